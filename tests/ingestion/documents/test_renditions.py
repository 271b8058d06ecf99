"""Tests of renditions: archived, recorded, verified, backed up and locked like originals."""

import hashlib

import pytest

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.backup import contents, creation
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.documents import renditions
from ingestion.models import Document, DocumentRendition, RowUnchangeable
from ingestion.operations.rendition_check import check_renditions_against_ledger
from ingestion.storage.archive import get_archive
from ingestion.storage.archive_verification import ArchiveFault, verify_parts
from ingestion.storage.object_locks import get_required_locks
from tests.factories import make_filed, make_site
from tests.ingestion.storage.conftest import store_file

pytestmark = pytest.mark.django_db
CONTENT = b"%PDF-1.7 pages of a letter"
TESTS = Actor.software("tests", "operations")


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.ARCHIVE_DIR = tmp_path / "archive"


@pytest.fixture
def letter(tmp_path):
    """Return a filed document of a word processor."""
    return make_filed(make_site("1001"), "letter", store_file(tmp_path, b"PK letter"))


def render(tmp_path, content=CONTENT):
    path = tmp_path / "rendition.pdf"
    path.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    return RenderedFile(
        RenditionKind.OFFICE_PDF, path, sha256, len(content), "application/pdf", "Writer 7.4.7"
    )


def make_rendition(document, rendered):
    renditions.store_rendition(rendered)
    with ledger():
        return renditions.record_rendition(Document.lock(document.pk), rendered)


def test_a_rendition_is_archived_and_recorded_with_the_tool_that_made_it(letter, tmp_path):
    rendition = make_rendition(letter, rendered := render(tmp_path))
    with get_archive().open(rendition.sha256) as stored:
        assert stored.read() == CONTENT
    entry = list_entries(letter.subject)[-1]
    assert (entry.event, entry.sha256) == ("document.rendition_made", letter.sha256)
    assert entry.detail == {
        "rendition": {
            "kind": "office_pdf",
            "sha256": rendered.sha256,
            "size": len(CONTENT),
            "media_type": "application/pdf",
            "tool": "Writer 7.4.7",
        }
    }
    assert list(check_renditions_against_ledger()) == []


def test_the_same_rendition_is_stored_once(letter, tmp_path):
    first = make_rendition(letter, render(tmp_path))
    assert make_rendition(letter, render(tmp_path)) == first
    assert len([e for e in list_entries(letter.subject) if "rendition" in e.event]) == 1


def test_the_newest_rendition_of_a_kind_counts(letter, tmp_path):
    make_rendition(letter, render(tmp_path))
    newer = make_rendition(letter, render(tmp_path, b"%PDF-1.7 newer"))
    assert renditions.find_rendition(letter, RenditionKind.OFFICE_PDF) == newer
    assert renditions.get_read_sha256(letter) == newer.sha256


def test_a_document_without_rendition_is_read_from_its_original(letter):
    assert renditions.find_read_rendition(letter) is None
    assert renditions.get_read_sha256(letter) == letter.sha256


def test_a_rendition_is_never_changed_or_deleted(letter, tmp_path):
    rendition = make_rendition(letter, render(tmp_path))
    with pytest.raises(RowUnchangeable):
        rendition.save()
    with pytest.raises(RowUnchangeable):
        rendition.delete()


def test_a_changed_row_or_a_removed_one_is_found_by_the_verification(letter, tmp_path):
    rendition = make_rendition(letter, render(tmp_path))
    DocumentRendition.objects.filter(pk=rendition.pk).update(tool="another tool")
    (sentence,) = check_renditions_against_ledger()
    assert sentence == f"{letter.subject}: its renditions are not those of its entries."
    DocumentRendition.objects.filter(pk=rendition.pk).delete()
    assert list(check_renditions_against_ledger()) == [sentence]
    DocumentRendition.objects.bulk_create([rendition])  # as it was
    assert list(check_renditions_against_ledger()) == []


def test_the_verification_of_the_archive_covers_renditions(letter, tmp_path):
    rendition = make_rendition(letter, render(tmp_path))
    result = verify_parts(asked_by="system:tests")
    assert (result.intact, result.files, result.counts[ArchiveFault.ORPHANED]) == (True, 2, 0)
    get_archive().path_of(rendition.sha256).unlink()
    result = verify_parts(asked_by="system:tests")
    assert result.named[ArchiveFault.MISSING] == [rendition.sha256]
    (entry,) = list_entries(f"file:{rendition.sha256}")
    assert entry.detail == {"documents": ["1001/letter"]}


def test_a_rendition_is_locked_like_its_document(letter, tmp_path):
    rendition = make_rendition(letter, render(tmp_path))
    locks = get_required_locks([letter.sha256, rendition.sha256])
    assert locks[rendition.sha256] == locks[letter.sha256]


@pytest.mark.django_db(transaction=True)
def test_a_backup_contains_renditions_and_names_a_missing_one(letter, tmp_path):
    rendition = make_rendition(letter, render(tmp_path))
    backup = creation.create_backup(tmp_path / "backups", by=TESTS)
    names = {each.name for each in contents.read_file_list(backup.folder)}
    assert {letter.sha256, rendition.sha256} <= names
    get_archive().path_of(rendition.sha256).unlink()
    (tmp_path / "other").mkdir()
    backup = creation.create_backup(tmp_path / "other", by=TESTS)
    assert backup.manifest.missing == [f"archive/{rendition.sha256}"]
