"""Defines fixtures: a site, its coordinator, and two reviewers."""

import pytest

from tests.factories import make_site, make_user
from tests.ingestion.review.reviewers import lead, reviewer, sender


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR = tmp_path / "previews"


@pytest.fixture
def site(db):
    return make_site("0203")


@pytest.fixture
def mara(site):
    return make_user("mara", sites=(site,), printed_name="Mara Lindqvist")


@pytest.fixture
def ines(db):
    """A reviewer who may override findings."""
    return lead("ines", "Inês Duarte")


@pytest.fixture
def rafael(db):
    """A reviewer without the second permission."""
    return reviewer("rafael", "Rafael Duarte")


@pytest.fixture
def sent(site, mara, tmp_path):
    return sender(site, mara, tmp_path)
