"""The section `tables`: the Iceberg catalog."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from dray.settings.secret import Secret
from dray.settings.storage import DATA_DIR

_CATALOG: Final = r"^(sqlite:.+|glue:([0-9]{12})?|https?://[^@?#]+)$"


class TablesSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The Iceberg catalog. Data and metadata of the tables are in the object store of `storage`."""

    catalog: Annotated[
        str,
        Meta(
            description="Catalog of the tables: SQLite on one machine, a REST catalog, or AWS Glue (of this "
            "account or another), which needs `dray[aws]`.",
            pattern=_CATALOG,
            extra={
                "flag": "--catalog",
                "allowed": "sqlite:PATH, the http(s) URL of an Iceberg REST catalog, glue: or glue:ACCOUNT",
            },
        ),
    ] = f"sqlite:{DATA_DIR}/tables.sqlite"
    namespace: Annotated[
        str,
        Meta(
            description="Namespace of the tables in the catalog.",
            pattern=r"^[A-Za-z0-9_]{1,128}$",
            extra={"allowed": "1 to 128 letters, digits or '_'"},
        ),
    ] = "dray"
    warehouse: Annotated[str | None, Meta(description="REST: warehouse of the catalog.")] = None
    credential: Annotated[
        Secret | None, Meta(description="REST: OAuth2 client credentials, as ID:SECRET.")
    ] = None
    token: Annotated[Secret | None, Meta(description="REST: bearer token.")] = None
    scope: Annotated[
        str | None, Meta(description="REST: OAuth2 scope of the token; unset, it is `catalog`.")
    ] = None
    oauth2_uri: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^@]+$")] | None,
        Meta(
            description="REST: OAuth2 token endpoint, if it is not the catalog's.",
            extra={"allowed": "an http(s) URL"},
        ),
    ] = None
    signing_name: Annotated[
        Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}$")] | None,
        Meta(
            description="REST: service for which requests are signed (AWS Signature Version 4); needs "
            "`dray[aws]`.",
            extra={"allowed": "glue, s3tables, execute-api or another service"},
        ),
    ] = None
    aws_region: Annotated[
        str | None, Meta(description="Glue, and signed requests: region; unset, that of `storage`.")
    ] = None
    tls_ca_file: Annotated[
        str | None,
        Meta(
            description="REST: file with the certificates of the authorities that sign the catalog's "
            "certificate, in addition to the system's.",
            extra={"allowed": "the path of a PEM file"},
        ),
    ] = None
    request_timeout_ms: Annotated[int, Meta(description="Timeout of one request to the catalog.", ge=1)] = (
        30_000
    )

    def __post_init__(self) -> None:
        if self.signing_name is not None and (self.credential is not None or self.token is not None):
            raise ValueError(
                "signing_name is set beside credential or token, and a request has one Authorization; set one"
            )
