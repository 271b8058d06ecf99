import pytest

from tests.audit.export.support import exported, publish, sign, write_ways


@pytest.fixture
def anchors(settings, tmp_path):
    publish(settings, tmp_path / "anchors")


@pytest.fixture
def trail(db, anchors):
    """Twelve entries of four documents at two sites, and a checkpoint after each site."""
    write_ways(1, 2)
    sign()
    write_ways(3, 4, site="FR-002")
    sign()


@pytest.fixture
def package(trail, tmp_path):
    return exported(tmp_path / "export")
