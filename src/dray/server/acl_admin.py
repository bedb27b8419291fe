"""Administration of ACLs in the metadata store, without a broker.

It needs access to the store and no rights in the cluster. Running brokers see a change a moment later.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from dray.acls import AclBinding, AclFilter, BindingCodes, InvalidAcl, binding_of
from dray.cluster.acl_admin import AclAdmin, TooManyAcls
from dray.cluster.acls import AclView
from dray.cluster.settings import SecuritySettings
from dray.index import CorruptValue
from dray.meta.port import MetaStore
from dray.runtime import SystemClock
from dray.server.access import inspect_metadata
from dray.server.command_audit import audited
from dray.server.errors import StartupError
from dray.settings import DraySettings

T = TypeVar("T")


def add_acls(settings: DraySettings, wanted: Sequence[BindingCodes]) -> list[AclBinding]:
    """Create ACLs that do not exist yet; returns all that were given."""
    try:
        bindings = [binding_of(codes) for codes in wanted]
    except InvalidAcl as error:
        raise StartupError(str(error)) from error

    async def create(_: AclView, admin: AclAdmin) -> list[AclBinding]:
        await admin.create(bindings)
        return bindings

    with audited(settings.logging, "dray acls add", [str(binding) for binding in bindings]):
        return _with_acls(settings, create)


def list_acls(settings: DraySettings, matching: AclFilter) -> list[AclBinding]:
    """Return the ACLs that match a filter, sorted."""

    async def read(view: AclView, _: AclAdmin) -> list[AclBinding]:
        await view.refresh_all()
        return view.bindings(matching)

    return _with_acls(settings, read)


def remove_acls(settings: DraySettings, matching: Sequence[AclFilter]) -> list[AclBinding]:
    """Delete the ACLs that match a filter; returns them, sorted."""

    async def delete(_: AclView, admin: AclAdmin) -> list[AclBinding]:
        deleted = await admin.delete(matching)
        return sorted({binding for found in deleted for binding in found})

    with audited(settings.logging, "dray acls remove", [str(one) for one in matching]) as subjects:
        removed = _with_acls(settings, delete)
        subjects[:] = [str(binding) for binding in removed]
    return removed


def _with_acls(settings: DraySettings, work: Callable[[AclView, AclAdmin], Awaitable[T]]) -> T:
    async def run(meta: MetaStore) -> T:
        view = AclView(meta, SecuritySettings(), SystemClock())
        return await work(view, AclAdmin(view, meta))

    try:
        return inspect_metadata(settings, run)
    except (CorruptValue, TooManyAcls) as error:
        raise StartupError(str(error)) from error
