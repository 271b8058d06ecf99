"""Defines marks for single cases of a test."""

import pytest


def slower(value):
    """Mark a case as slow, because the other cases test the same code."""
    return pytest.param(value, marks=pytest.mark.slow)
