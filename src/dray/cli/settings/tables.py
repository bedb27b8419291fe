"""The section `tables`: the catalogue in which topics are tables."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from dray.cli.settings.secret import Secret
from dray.cli.settings.storage import DATA_DIR

_CATALOG: Final = r"^(sqlite:.+|https?://[^@?#]+)$"


class TablesSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The Iceberg catalogue. Data and metadata of the tables are in the object store of `storage`."""

    catalog: Annotated[
        str,
        Meta(
            description="Where tables are listed: in SQLite on one machine, in a REST catalogue otherwise.",
            pattern=_CATALOG,
            extra={
                "flag": "--catalog",
                "allowed": "sqlite:PATH or the http(s) URL of an Iceberg REST catalogue",
            },
        ),
    ] = f"sqlite:{DATA_DIR}/tables.sqlite"
    namespace: Annotated[
        str,
        Meta(
            description="The namespace of the catalogue that the tables are in.",
            pattern=r"^[A-Za-z0-9_]{1,128}$",
            extra={"allowed": "1 to 128 letters, digits or '_'"},
        ),
    ] = "dray"
    warehouse: Annotated[str | None, Meta(description="REST: which warehouse of the catalogue to use.")] = (
        None
    )
    credential: Annotated[
        Secret | None, Meta(description="REST: the client's id and secret for OAuth2, as ID:SECRET.")
    ] = None
    token: Annotated[Secret | None, Meta(description="REST: a bearer token.")] = None
    oauth2_uri: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^@]+$")] | None,
        Meta(
            description="REST: where the token for the credential is had, if not from the catalogue.",
            extra={"allowed": "an http(s) URL"},
        ),
    ] = None
    request_timeout_ms: Annotated[
        int, Meta(description="How long one request to the catalogue may take.", ge=1)
    ] = 30_000
