"""Pytest plugin for `@pytest.mark.real(name)`: skipped parts are listed at the end of the run.

A test whose part is missing is skipped, or fails with `CI=true` if the part is not optional. The list comes
after pytest's last line, where it is not overlooked. Each worker starts its own server: pytest-xdist 3.8
cannot keep the tests of one group together under pytest 9.2 (its `loadgroup` has no effect there).
"""

import os
from collections import Counter
from collections.abc import Generator

import pytest

from tests import parts

LEFT_OUT = "part left out"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "real(part, ...): needs real servers or tools, named as in tests/parts.py"
    )


def parts_of(item: pytest.Item) -> list[parts.Part]:
    names = [name for mark in item.iter_markers("real") for name in mark.args or ("(no name)",)]
    unknown = sorted(set(names) - parts.PARTS.keys())
    if unknown:
        known = ", ".join(sorted(parts.PARTS))
        raise pytest.UsageError(
            f"{item.nodeid}: mark.real names {', '.join(unknown)}; tests/parts.py knows {known}"
        )
    return [parts.PARTS[name] for name in names]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fail the whole run for a wrong name, not only the test, which might never run."""
    for item in items:
        parts_of(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [part for part in parts_of(item) if part.find() is None]
    if not missing:
        return
    reason = "; ".join(f"{part.what} is missing. To have it: {part.install}" for part in missing)
    in_ci = os.environ.get("CI", "").lower() in {"1", "true"}
    if in_ci and not all(part.optional for part in missing):
        pytest.fail(f"in CI nothing may be left out: {reason}", pytrace=False)
    # Properties travel with the report from a worker to the process that prints.
    item.user_properties.extend((LEFT_OUT, part.name) for part in missing)
    pytest.skip(reason)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Print the list; as the outermost wrapper, this runs after the terminal reporter's last line."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        for line in left_out_lines(reporter.stats.get("skipped", [])):
            reporter.write_line(line)


def left_out_lines(skipped: list[pytest.TestReport]) -> list[str]:
    counts = Counter(
        value
        for report in skipped
        for name, value in getattr(report, "user_properties", [])
        if name == LEFT_OUT
    )
    found = [(parts.PARTS[str(name)], count) for name, count in sorted(counts.items())]
    return [
        f"left out: {part.what} ({count} {'test' if count == 1 else 'tests'}). To have it: {part.install}"
        for part, count in found
    ]
