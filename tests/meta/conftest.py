"""Assertions of the contract are shown as those of a test."""

import pytest

pytest.register_assert_rewrite("dray.testing.contracts")
