"""The section `tables`: the Iceberg catalog."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from dray.settings.secret import Secret
from dray.settings.storage import DATA_DIR

_CATALOG: Final = r"^(sqlite:.+|https?://[^@?#]+)$"


class TablesSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The Iceberg catalog. Data and metadata of the tables are in the object store of `storage`."""

    catalog: Annotated[
        str,
        Meta(
            description="Catalog of the tables: SQLite on one machine, or a REST catalog.",
            pattern=_CATALOG,
            extra={
                "flag": "--catalog",
                "allowed": "sqlite:PATH or the http(s) URL of an Iceberg REST catalog",
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
    oauth2_uri: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^@]+$")] | None,
        Meta(
            description="REST: OAuth2 token endpoint, if it is not the catalog's.",
            extra={"allowed": "an http(s) URL"},
        ),
    ] = None
    request_timeout_ms: Annotated[int, Meta(description="Timeout of one request to the catalog.", ge=1)] = (
        30_000
    )
