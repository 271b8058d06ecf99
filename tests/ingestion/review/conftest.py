"""Defines fixtures: two reviewers, and a function that submits checked documents."""

import pytest

from tests.ingestion.review.reviewers import lead, reviewer, sender


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR = tmp_path / "previews"


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
