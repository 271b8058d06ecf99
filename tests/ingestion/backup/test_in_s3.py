"""Tests of backups and restorations whose archive and spool are in S3."""

import pytest

from ingestion.models import Document
from ingestion.storage import spool
from ingestion.storage.archive import get_archive
from tests.ingestion.backup.conftest import run
from tests.ingestion.storage.buckets import use_buckets

pytestmark = pytest.mark.requirement("R31")


@pytest.fixture
def in_buckets(s3, monkeypatch, settings, here):
    return lambda: use_buckets(s3, monkeypatch, settings)


@pytest.mark.slow
def test_all_received_files_are_restored_into_other_buckets(
    in_buckets, target, request, elsewhere, tmp_path, capsys
):
    in_buckets()
    filed, waiting = request.getfixturevalue("filed"), request.getfixturevalue("waiting")
    assert run("backup", target) == 0
    with elsewhere():
        refused = run("restore", target)
        assert "ARCHIVE_S3_BUCKET" in capsys.readouterr().out
        in_buckets()
        assert (refused, run("restore", target)) == (2, 0)
        assert all(get_archive().has(sha256) for sha256 in filed)
        upload = Document.objects.get(pk=waiting.pk)
        assert spool.open_local(upload.spooled, tmp_path).read_bytes() == b"%PDF-1.7"
