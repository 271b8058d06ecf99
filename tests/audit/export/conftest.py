"""Fixtures for tests of exports: a signed trail and its export."""

import pytest

from tests.audit.export.support import make_export, publish, sign, write_documents


@pytest.fixture
def anchors(settings, tmp_path):
    publish(settings, tmp_path / "anchors")


@pytest.fixture
def trail(db, anchors):
    """Write twelve entries of four documents at two sites, and a checkpoint after each site."""
    write_documents(1, 2)
    sign()
    write_documents(3, 4, site="FR-002")
    sign()


@pytest.fixture
def package(trail, tmp_path):
    return make_export(tmp_path / "export")
