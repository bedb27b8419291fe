"""Sweeps of a broker: garbage collection, retention, deleted topics and expired offsets, at an interval.

Every broker sweeps; concurrent sweeps are safe. A sweep of objects first checks that the metadata store is
not superseded (see `supersession`), because only the store of the last restore knows what is referenced.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from dray.api.services import Services
from dray.cluster.topics import TopicCatalog
from dray.coordinators import OffsetExpiry
from dray.ids import MetaDomain
from dray.server.stores import ProcessContext, Stores
from dray.server.supersession import Supersession
from dray.settings import DraySettings
from dray.sweep import DomainSweep, TopicPolicies

_SWEEP_SECONDS: Final = 60.0
_ORPHAN_SECONDS: Final = 6 * 3600.0


def start_sweeps(
    settings: DraySettings,
    stores: Stores,
    context: ProcessContext,
    services: Services,
    *,
    domains: int,
    supersession: Supersession,
) -> None:
    """Sweep all domains until the process stops."""
    topics = services.topics
    every = partial(context.tasks.every, clock=context.clock)
    expiry_seconds = settings.groups.offsets_retention_check_interval_ms / 1000
    expiry = OffsetExpiry(services.groups, services.groups.store, _id_of(topics), context.clock)
    every(expiry_seconds, expiry.run, name="expire-offsets")
    every(_SWEEP_SECONDS, services.topic_admin.finish_deletions, name="sweep-topics")
    policies = TopicPolicies(topics)
    for domain in map(MetaDomain, range(domains)):
        sweep = DomainSweep(
            stores.meta,
            stores.objects,
            domain,
            domains=domains,
            clock=context.clock,
            settings=settings.log,
            policy_of=policies.of,
        )
        every(_SWEEP_SECONDS, partial(_sweep, policies, sweep, supersession), name="sweep-log")
        every(_ORPHAN_SECONDS, partial(_sweep_strays, sweep, supersession), name="sweep-orphans")


async def _sweep(policies: TopicPolicies, sweep: DomainSweep, supersession: Supersession) -> None:
    await supersession.check()
    if supersession.reason is None:
        policies.refresh()
        await sweep.run()


async def _sweep_strays(sweep: DomainSweep, supersession: Supersession) -> None:
    await supersession.check()
    if supersession.reason is None:
        await sweep.run_strays()


def _id_of(topics: TopicCatalog) -> Callable[[str], Awaitable[bytes | None]]:
    async def topic_id(name: str) -> bytes | None:
        topic = await topics.fresh(name)
        return None if topic is None else topic.topic_id

    return topic_id
