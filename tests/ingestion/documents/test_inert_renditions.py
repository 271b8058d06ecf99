"""Tests of inert renditions: made after the decision, recorded, and repeated if that fails."""

import hashlib
from io import BytesIO

import pikepdf
import pytest

from audit import job_runs, outbox
from audit.background_jobs import AuditJob
from audit.ledger.queries import list_entries
from audit.models import OutboxMessage
from ingestion import tasks
from ingestion.core.renditions import RenditionKind
from ingestion.documents import downloads, inert_renditions, renditions
from ingestion.documents.downloads import FileAccess, RenditionMissing
from ingestion.models import Action, Document
from ingestion.operations.rendition_check import check_renditions_against_ledger
from ingestion.reading import page_pictures
from ingestion.reading.page_pictures import PicturesFailed
from ingestion.reading.pdf.static_pdf import is_static
from ingestion.rules.findings import RuleFinding
from ingestion.storage.archive import get_archive
from sites.roles import QA_REVIEWERS
from tests.factories import make_site, make_staff, make_user, verdict
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import add_script, make_pdf, rewrite
from tests.ingestion.review.reviewers import decide, lead, sender
from tests.web.scenes import FILED

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPTED = RuleFinding("ACTIVE_CONTENT", facts={"kinds": "javascript launch"})
HARMFUL = verdict("IN_REVIEW", SCRIPTED)
KIND = inert_renditions.KIND.name


@pytest.fixture
def site(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR = tmp_path / "previews"
    return make_site("0203")


@pytest.fixture
def mara(site):
    return make_user("mara", sites=(site,))


@pytest.fixture
def send(site, mara, tmp_path):
    return sender(site, mara, tmp_path)


def harmful(pages=2):
    return add_script(make_pdf(pages=pages))


def test_pictures_of_a_file_with_active_content_are_made_by_a_background_job(send):
    original = harmful()
    document = send(HARMFUL, original)
    assert renditions.find_inert_rendition(document) is None
    assert job_runs.run_next_job()
    rendition = renditions.find_inert_rendition(document)
    assert (rendition.kind, rendition.media_type) == (RenditionKind.INERT, "application/pdf")
    assert "pypdfium2" in rendition.tool
    path = get_archive().path_of(rendition.sha256)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == rendition.sha256
    assert is_static(path)
    with pikepdf.open(path) as pictures:
        assert len(pictures.pages) == 2
    entry = list_entries(document.subject)[-1]
    assert entry.event == "document.rendition_made"
    assert entry.detail["rendition"]["kind"] == "inert"
    assert list(check_renditions_against_ledger()) == []
    assert get_archive().path_of(document.sha256).read_bytes() == original
    document.refresh_from_db()
    assert (document.state, document.code) == ("IN_REVIEW", "ACTIVE_CONTENT")
    assert AuditJob.objects.get(kind=inert_renditions.JOB_KIND).result == {"made": 1, "errors": []}


def test_a_file_without_active_content_gets_no_pictures(send):
    send(FILED, make_pdf())
    assert not OutboxMessage.objects.filter(kind=KIND).exists()
    assert not AuditJob.objects.filter(kind=inert_renditions.JOB_KIND).exists()


def test_a_rejected_document_with_active_content_gets_pictures_too(send):
    unsigned = RuleFinding("SIGNATURE_MISSING", 1, {"page": 1, "role": "", "section": ""})
    document = send(verdict("REJECTED", unsigned, SCRIPTED), harmful())
    assert outbox.deliver_due(KIND).delivered == 1
    assert renditions.find_inert_rendition(document)


def test_a_failure_is_recorded_and_repeated_and_changes_nothing_else(
    send, mara, monkeypatch, caplog
):
    document = send(HARMFUL, harmful())
    entries = len(list_entries(document.subject))

    async def fail(*_arguments, **_options):
        return PicturesFailed("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(page_pictures, "render_pictures", fail)
        assert job_runs.run_next_job()
    message = OutboxMessage.objects.get(kind=KIND)
    assert (message.state, message.attempts) == (OutboxMessage.State.WAITING, 1)
    assert "no space left" in message.error
    assert "no space left" in caplog.text
    document.refresh_from_db()
    assert (document.state, len(list_entries(document.subject))) == ("IN_REVIEW", entries)
    with pytest.raises(RenditionMissing):
        downloads.choose_file(document, mara)
    OutboxMessage.objects.update(due_at=message.created_at)
    tasks.retry_inert_renditions()
    assert job_runs.run_next_job()
    assert downloads.choose_file(document, mara).rendition.kind == RenditionKind.INERT


def test_an_original_that_is_missing_is_a_failure_of_ours(send):
    document = send(HARMFUL, harmful())
    get_archive().path_of(document.sha256).unlink()
    assert "FileNotFoundError" in outbox.deliver_due(KIND).errors[0]


def test_a_rendition_is_made_once(send):
    document = send(HARMFUL, harmful())
    inert_renditions.request_rendition(document)
    assert OutboxMessage.objects.filter(kind=KIND).count() == 1
    outbox.deliver_due(KIND)
    inert_renditions.request_rendition(document)
    assert not OutboxMessage.objects.filter(kind=KIND).exists()


def test_a_request_that_was_given_up_can_be_repeated(send):
    document = send(HARMFUL, harmful())
    OutboxMessage.objects.update(state=OutboxMessage.State.DEAD, dead_at=document.received_at)
    inert_renditions.request_rendition(document)
    assert outbox.deliver_due(KIND).delivered == 1


def test_pages_that_cannot_be_displayed_are_named(send):
    def add(pdf):
        pdf.pages.extend(pikepdf.open(BytesIO(hostile.picture_of_a_gigapixel())).pages)

    document = send(HARMFUL, rewrite(harmful(pages=1), add))
    outbox.deliver_due(KIND)
    rendition = renditions.find_inert_rendition(document)
    assert inert_renditions.find_undisplayed(rendition) == "2"


def test_who_may_have_what_of_a_file_with_active_content(send, site, mara):
    """By state, for a coordinator, others of staff, QA and everyone."""
    document = send(HARMFUL, harmful())
    reviewer, affairs = make_staff(QA_REVIEWERS), make_staff("Regulatory affairs")
    expected = {
        "IN_REVIEW": (FileAccess.INERT, FileAccess.NOTHING, FileAccess.NOTHING),
        "ARCHIVED": (FileAccess.INERT, FileAccess.INERT, FileAccess.INERT),
        "DEDUPED": (FileAccess.INERT, FileAccess.INERT, FileAccess.INERT),
        "REJECTED": (FileAccess.INERT, FileAccess.INERT, FileAccess.NOTHING),
        "RETURNED": (FileAccess.INERT, FileAccess.INERT, FileAccess.NOTHING),
        "WITHDRAWN": (FileAccess.INERT, FileAccess.INERT, FileAccess.NOTHING),
        "HELD": (FileAccess.NOTHING, FileAccess.NOTHING, FileAccess.NOTHING),
        "CANCELLED": (FileAccess.NOTHING, FileAccess.NOTHING, FileAccess.NOTHING),
    }
    for state, (of_site, of_staff, of_all) in expected.items():
        document.state = state
        assert downloads.find_access(document, mara) is of_site, state
        assert downloads.find_access(document, affairs) is of_staff, state
        assert downloads.find_access(document) is of_all, state
        assert downloads.find_access(document, reviewer) is FileAccess.ORIGINAL, state
        with pytest.raises(FileNotFoundError):
            downloads.open_original(document, mara)


@pytest.mark.parametrize("code", ["PHI_SUSPECTED", "MALWARE_SUSPECTED"])
def test_pictures_are_withheld_while_another_finding_withholds_them(send, mara, code):
    other = RuleFinding(code, facts={})
    document = send(verdict("IN_REVIEW", other, SCRIPTED), harmful())
    assert downloads.find_access(document, mara) is FileAccess.NOTHING


def test_the_original_stays_under_lock_when_qa_files_the_document(send, mara):
    document = send(HARMFUL, harmful())
    outbox.deliver_due(KIND)
    decide(document, Action.UNSEAL, lead("lena", "Lena Berg"))
    document = Document.objects.get()
    assert document.state == "ARCHIVED"
    for person in (mara, None):
        assert downloads.choose_file(document, person).rendition.kind == RenditionKind.INERT
    reviewer = make_staff(QA_REVIEWERS)
    with downloads.open_original(document, reviewer) as original:
        assert hashlib.sha256(original.read()).hexdigest() == document.sha256


def test_the_original_of_a_repetition_is_under_lock_like_that_of_its_twin(send, mara):
    """The checks of a repetition do not read it, so it has no such finding of its own."""
    original = harmful()
    document = send(HARMFUL, original)
    outbox.deliver_due(KIND)
    decide(document, Action.UNSEAL, lead("lena", "Lena Berg"))
    second = send(HARMFUL, original, user=mara)
    assert second.state == "DEDUPED"
    assert not second.findings.filter(code="ACTIVE_CONTENT").exists()
    offered = downloads.choose_file(second, mara)
    assert offered.rendition == renditions.find_inert_rendition(document)
