"""Objects in S3, Google Cloud Storage and Azure Blob Storage, through obstore."""

from dray.objects.cloud.connect import (
    AzureSettings,
    GcsSettings,
    S3Encryption,
    S3Settings,
    open_azure,
    open_azure_files,
    open_gcs,
    open_gcs_files,
    open_s3,
    open_s3_files,
)
from dray.objects.cloud.files import CloudFiles
from dray.objects.cloud.store import CloudObjects

__all__ = [
    "AzureSettings",
    "CloudFiles",
    "CloudObjects",
    "GcsSettings",
    "S3Encryption",
    "S3Settings",
    "open_azure",
    "open_azure_files",
    "open_gcs",
    "open_gcs_files",
    "open_s3",
    "open_s3_files",
]
