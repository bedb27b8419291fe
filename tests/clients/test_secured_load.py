"""Producers over SASL_SSL write on while certificates are replaced and while their sessions end."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.clients.secured import SecuredBroker, secured_dray
from tests.clients.secured_load import MECHANISMS, PROGRESS_S, SETTINGS, repeated, running_load
from tests.clients.target import EXTERNAL, needs

pytestmark = [
    pytest.mark.slow,
    *needs("java", "go"),
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure a broker of their own"),
]

ROTATIONS: Final = 5
SESSIONS: Final = 2


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    folder = tmp_path_factory.mktemp("load") / "dray"
    with secured_dray(folder, SETTINGS) as running:
        yield running


def test_certificates_are_replaced_without_a_failed_produce(secured: SecuredBroker, tmp_path: Path) -> None:
    with running_load(secured, tmp_path) as load:
        for _ in range(ROTATIONS):
            load.rotate()
            load.await_progress()


def test_clients_authenticate_again_without_a_failed_produce(secured: SecuredBroker, tmp_path: Path) -> None:
    before = repeated(secured.http)
    with running_load(secured, tmp_path) as load:
        deadline = time.monotonic() + PROGRESS_S
        wanted = {mechanism: before.get(mechanism, 0) + SESSIONS for mechanism in MECHANISMS.values()}
        while any(repeated(secured.http).get(mechanism, 0) < count for mechanism, count in wanted.items()):
            assert time.monotonic() < deadline, f"wanted {wanted}, found {repeated(secured.http)}"
            threading.Event().wait(0.1)
        load.await_progress()
