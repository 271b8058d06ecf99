"""Marks for single cases of a test."""

import pytest


def slower(value):
    """A case that `make test-all` adds: the others ask the same of the code."""
    return pytest.param(value, marks=pytest.mark.slow)
