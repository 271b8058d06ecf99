"""Tests of whole shifts with the real core, parser processes and sample portal."""

import dataclasses
import datetime
import hashlib
from io import BytesIO

import pikepdf
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.utils import timezone

from audit.electronic_signatures import ElectronicSignature
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.core.file_parts import Division, DocumentPart, FilePart
from ingestion.core.ports import Fetched
from ingestion.core.retry import RetryRules
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch import leases
from ingestion.dispatch.processes import drain
from ingestion.dispatch.shift import work_shift
from ingestion.documents import division
from ingestion.documents.separator_sheets import SeparatorSheet, render_sheets
from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import portal_pull, registration, submission
from ingestion.learning import activation
from ingestion.models import BatchSource, Chunk, Document, LearnedModel, ValidityOverride
from ingestion.operations.division_check import check_divisions_against_ledger
from ingestion.rules.document_types import RULES_VERSION, name_rules
from ingestion.rules.fields.dates import add_months
from ingestion.storage import finished_stages, spool
from ingestion.storage.archive import get_archive
from samples.binders import make_binder
from samples.documents import make_sample
from samples.people_and_sites import get_sample_site as sample
from samples.portal import SamplePortal, read_limits
from sites.models import Site, Study
from tests.factories import make_batch, make_site, make_staff, make_user
from tests.ingestion.learning.stored_models import make_model
from tests.ingestion.whole_batches import assert_outcomes

pytestmark = pytest.mark.django_db(transaction=True)
PERSON_MISMATCH = ("IN_REVIEW", "PERSON_MISMATCH")
TYPE_CONFLICT = ("IN_REVIEW", "DOC_TYPE_CONFLICT")


def outcomes(batch):
    rows = batch.documents.values_list("site__site_id", "doc_id", "state", "code")
    return {(site, doc_id): (state, code) for site, doc_id, state, code in rows}


def test_a_packet_has_the_expected_outcomes_and_the_portal_limits_are_kept(
    one_site_with_scans, submit, settings
):
    corpus = one_site_with_scans
    # On a busy machine, OCR of a page may take longer than production permits.
    patient = {"page_seconds": 300.0, "engine_seconds": 240.0, "task_seconds": 900.0}
    settings.READING_LIMITS = dataclasses.replace(settings.READING_LIMITS, **patient)
    with SamplePortal(corpus.directory, read_limits(corpus.sites), faults=0.3) as portal:
        batch = submit(corpus, portal)
        work_shift()
        assert portal.violations.total() == 0
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    assert_outcomes(corpus, batch)
    codes = {entry.doc_id: entry.code for entry in corpus.expectations}
    for rejected in batch.documents.filter(state=DocumentState.REJECTED):
        assert rejected.code == codes[rejected.doc_id]


def test_bytes_that_a_dead_worker_had_fetched_are_not_requested_again(few, submit):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        batch = submit(few, portal)
    # No portal is there any more. Of one document, the worker had fetched the bytes when it died.
    fetched_one, *others = batch.documents.order_by("doc_id")
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    path = spool.get_attempt_folder(lease.lease_id) / f"{fetched_one.pk}"
    name = fetched_one.url.rpartition("/")[2]
    [source] = few.directory.rglob(name)
    path.write_bytes(source.read_bytes())
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    finished_stages.keep_fetched(fetched_one.pk, Fetched(path, sha256, path.stat().st_size))
    Document.objects.filter(pk=fetched_one.pk).update(attempts=1)
    assert leases.recover_leases_of("here:1:1") == 1
    assert not path.exists(), "the folder of the lease is gone"
    work_shift()
    fetched_one.refresh_from_db()
    [expected] = [each for each in few.expectations if each.doc_id == fetched_one.doc_id]
    assert (fetched_one.state, fetched_one.sha256) == (expected.state, sha256)
    assert {document.state for document in batch.documents.exclude(pk=fetched_one.pk)} == {
        DocumentState.RECEIVED
    }
    kept = [file.name for file in spool.get_path("finished").rglob("*") if file.is_file()]
    assert kept == [], "a decided document leaves nothing"
    assert len(others) == 2


@pytest.mark.slow
def test_declarations_of_site_and_sender_are_checked(one_site):
    """Each file differs from the declared version, person or kind of file."""
    call_command("load_sites", str(one_site.sites), verbosity=0)
    Study.objects.update(protocol_version="9.0")
    today = datetime.datetime.now(datetime.UTC).date()
    files = [
        registration.UploadedDocument(
            f"{slug}{ending}", slug, person, ContentFile(make_sample(slug, today=today))
        )
        for slug, person, ending in (
            ("cv", "Helena Brandt", ".pdf"),
            ("irb-approval", "", ".pdf"),
            ("delegation-log", "", ".jpg"),
        )
    ]
    packet = registration.register_upload(site=Site.objects.get(), user=make_user(), files=files)
    work_shift()
    assert dict(packet.documents.values_list("document_type", "code")) == {
        "cv": "PERSON_MISMATCH",
        "irb-approval": "PROTOCOL_VERSION_MISMATCH",
        "delegation-log": "TYPE_MISMATCH",
    }


@pytest.mark.slow
def test_filed_bytes_are_those_that_the_portal_served(few, submit):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        batch = submit(few, portal)
        work_shift()
    document = batch.documents.filter(state=DocumentState.ARCHIVED).first()
    source = few.files / document.site.site_id / f"{document.doc_id}.pdf"
    with get_archive().open(document.sha256) as filed:
        assert filed.read() == source.read_bytes()


def test_a_packet_that_is_sent_again_is_already_on_file(few, submit):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        first = submit(few, portal)
        work_shift()
        second = submit(few, portal)
        report = work_shift()
    assert str(report).startswith(f"{second.reference}: 3 documents, ")
    assert "already on file" in str(report)
    filed = {key for key, (state, _) in outcomes(first).items() if state == "ARCHIVED"}
    deduped = {key for key, (state, _) in outcomes(second).items() if state == "DEDUPED"}
    assert filed
    assert filed == deduped


@pytest.mark.slow
def test_an_unchanged_document_is_not_transferred_again(few, submit):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        submit(few, portal)
        work_shift()
        submit(few, portal)
        work_shift()
    filed = Document.objects.on_file().exclude(duplicates=None).first()
    repeated = filed.duplicates.get()
    statuses = [
        each.status for each in portal.requests if each.path.endswith(f"/{filed.doc_id}.pdf")
    ]
    assert statuses == [200, 304]
    assert (repeated.state, repeated.code) == ("DEDUPED", "DUPLICATE_CONTENT")
    assert (repeated.doc_id, repeated.sha256, repeated.size) == (
        filed.doc_id,
        filed.sha256,
        filed.size,
    )
    assert Document.objects.on_file().filter(doc_id=filed.doc_id).count() == 1
    entry = list_entries(repeated.subject)[-1]
    assert entry.event == "document.already_on_file"
    assert entry.detail["portal"]["answer"] == "304 unchanged"


@pytest.mark.slow
def test_a_repeated_download_files_changed_documents_only(few, submit):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        first = submit(few, portal)
        work_shift()
        changed, *others = first.documents.on_file()
        source = few.files / changed.site.site_id / f"{changed.doc_id}.pdf"
        before = source.read_bytes()
        try:
            source.write_bytes(before + b"%a new version\n")
            second = portal_pull.pull_site(
                changed.site, submission.Submission(BatchSource.PULL, Actor("user:olga", "ops"))
            )
            work_shift()
        finally:
            source.write_bytes(before)
    assert second.documents.count() == first.documents.count()
    assert second.documents.get(doc_id=changed.doc_id).state == DocumentState.ARCHIVED
    unchanged = second.documents.filter(doc_id__in=[each.doc_id for each in others])
    assert {document.state for document in unchanged} == {DocumentState.DEDUPED}


def test_documents_of_an_unreachable_portal_are_held(settings):
    settings.INGEST_LIMITS = without_patience(settings.INGEST_LIMITS)
    batch = make_batch(make_site(base_url="http://127.0.0.1:9/x/"), documents=2)
    work_shift()
    assert {state for state, _ in outcomes(batch).values()} == {"HELD"}
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED


def without_patience(limits):
    """Return the limits with a deadline of 0 for portals that do not answer."""
    return dataclasses.replace(limits, retry=RetryRules(deadline_seconds=0))


def test_a_shift_without_due_chunks_ends_at_once():
    work_shift()
    assert not Chunk.objects.exists()


def test_a_draining_worker_claims_nothing_and_the_next_shift_continues(settings):
    settings.INGEST_LIMITS = without_patience(settings.INGEST_LIMITS)
    batch = make_batch(documents=2)
    drain.start_draining()
    try:
        work_shift()
    finally:
        drain._cluster.value = False
    assert batch.chunks.get().state == ChunkState.WAITING
    work_shift()
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED


@pytest.mark.slow
def test_a_shift_leaves_no_lease_and_no_spooled_files(few, submit, settings):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        submit(few, portal)
        work_shift()
    assert not Chunk.objects.exclude(state=ChunkState.DONE).exists()
    assert not [path for path in settings.SPOOL_DIR.rglob("*") if path.is_file()]


def test_a_document_of_a_dead_worker_is_filed_once_by_the_next_worker(few, submit):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as portal:
        batch = submit(few, portal)
        [lost] = leases.claim_due_chunks(1, by="dead:1:1")
        Chunk.objects.update(lease_expires_at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
        leases.recover_expired()
        work_shift()
    document = Document.objects.get(pk=lost.items[0].document)
    events = [entry.event for entry in list_entries(document.subject)]
    assert document.state in {"ARCHIVED", "REJECTED", "IN_REVIEW"}
    assert events.count("document.checking") == 1
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED


@pytest.mark.slow
def test_the_file_of_an_upload_is_removed_from_the_spool_after_archiving(one_site, settings):
    site = make_site("1001")
    expected = one_site.expectations[0]
    content = (one_site.files / expected.site_id / f"{expected.doc_id}.pdf").read_bytes()
    for _ in range(2):
        file = registration.UploadedDocument(
            "page.pdf", "protocol-signature-page", "", ContentFile(content, "page.pdf")
        )
        registration.register_upload(site=site, user=make_user(), files=[file])
        work_shift()
    states = Document.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["ARCHIVED", "DEDUPED"]
    assert not [path for path in settings.SPOOL_DIR.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_documents_of_a_sample_site_do_not_contradict_each_other(one_site, submit):
    with SamplePortal(one_site.directory, read_limits(one_site.sites), faults=0) as portal:
        batch = submit(one_site, portal)
        work_shift()
    stand = get_readiness(batch.packets.get().site)
    assert stand.contradictions == []
    filed = set(batch.documents.on_file().values_list("document_type", flat=True))
    fulfilled = {each.document_type for each in stand.required if each.status.is_met}
    assert fulfilled == filed


@pytest.mark.slow
def test_a_document_is_checked_with_the_validity_override_of_its_study(settings):
    today = timezone.now().date()
    site = make_site("1001")
    ValidityOverride.objects.create(
        study=site.study, document_type="cv", max_age_months=60, reason="Sponsor SOP 12"
    )
    content = ContentFile(make_sample("cv", today=today, site=sample("1001")), "cv.pdf")
    files = [registration.UploadedDocument("cv.pdf", "cv", "Margaret Whitfield", content)]
    packet = registration.register_upload(site=site, user=make_user(), files=files)
    work_shift()
    kept = packet.documents.get().extractions.get()
    assert kept.terms == {"months": 60}
    assert kept.expires == add_months(kept.dated, 60)


def test_a_divided_file_is_filed_as_its_documents_and_stays_one_archived_file(one_site):
    """Each part is read from the archived file, and only its own pages are."""
    call_command("load_sites", str(one_site.sites), verbosity=0)
    today = datetime.datetime.now(datetime.UTC).date()
    kinds = ("irb-approval", "delegation-log")
    papers = [make_sample(slug, today=today) for slug in kinds]
    binder = make_binder(papers)
    upload = registration.UploadedDocument("all.pdf", kinds[0], "", ContentFile(binder))
    user, site = make_user(), Site.objects.get()
    packet = registration.register_upload(site=site, user=user, files=[upload])
    work_shift()
    file = packet.documents.get()
    assert (file.state, file.code) == (DocumentState.IN_REVIEW, "MULTIPLE_DOCUMENTS")
    with pikepdf.open(BytesIO(papers[0])) as paper:
        first = len(paper.pages)
    parts = [FilePart(1, first), FilePart(first + 1, file.pages)]
    with ledger():
        division.divide(
            Document.lock(file.pk),
            Division(tuple(map(DocumentPart, parts))),
            page_count=file.pages,
        )
    work_shift()
    rows = file.parts.order_by("pk")
    assert [(row.document_type, row.state, row.code) for row in rows] == [
        (kind, DocumentState.ARCHIVED, "") for kind in kinds
    ]
    for row, part in zip(rows, parts, strict=True):
        read = [page["number"] for page in row.extractions.get().pages]
        assert (row.sha256, row.pages, read) == (file.sha256, len(read), list(part.numbers))
    with get_archive().open(file.sha256) as archived:
        assert archived.read() == binder
    assert division.is_finished(Document.objects.get(pk=file.pk))


@pytest.mark.slow
def test_a_scan_with_separator_sheets_is_divided_without_qa_and_each_part_has_its_own_outcome(
    one_site,
):
    """A sheet declares type and person of the next document, and cannot file a wrong one."""
    call_command("load_sites", str(one_site.sites), verbosity=0)
    today, site = datetime.datetime.now(datetime.UTC).date(), Site.objects.get()
    expected = [  # sheet, document, outcome
        (SeparatorSheet("irb-approval"), "irb-approval", ("ARCHIVED", "")),
        (SeparatorSheet("cv", "Margaret Whitfield"), "cv", ("ARCHIVED", "")),
        (SeparatorSheet("gcp-certificate", "Jo Nobody"), "gcp-certificate", PERSON_MISMATCH),
        (SeparatorSheet("medical-licence"), "delegation-log", TYPE_CONFLICT),
    ]
    sheets = (render_sheets(site, [sheet]) for sheet, _kind, _outcome in expected)
    papers = (make_sample(kind, today=today) for _sheet, kind, _outcome in expected)
    pairs = zip(sheets, papers, strict=True)
    binder = make_binder([each for pair in pairs for each in pair])
    upload = registration.UploadedDocument(
        "all.pdf", registration.SEVERAL_DOCUMENTS, "", ContentFile(binder)
    )
    packet = registration.register_upload(site=site, user=make_user(), files=[upload])
    work_shift()
    file = packet.documents.get(part_of=None)
    assert (file.state, file.document_type) == (DocumentState.DIVIDED, "")
    parts = list(file.parts.order_by("first_page"))
    assert [(part.state, part.code) for part in parts] == [outcome for *_, outcome in expected]
    assert parts[1].declared_person == "Margaret Whitfield"
    assert set(file.excluded_pages.values_list("use", flat=True)) == {"separator"}
    assert file.excluded_pages.count() == len(expected)
    assert list(check_divisions_against_ledger()) == []
    with get_archive().open(file.sha256) as archived:
        assert archived.read() == binder


@pytest.mark.slow
def test_a_worker_uses_the_model_that_is_active_when_it_begins_a_chunk(one_site):
    """No process is restarted, and the decision and its entry name the model."""
    call_command("load_sites", str(one_site.sites), verbosity=0)
    ines, today = make_staff("QA leads"), datetime.datetime.now(datetime.UTC).date()

    def check(number):
        content = ContentFile(make_sample("irb-approval", today=today, seed=number))
        file = registration.UploadedDocument("irb.pdf", "irb-approval", "", content)
        packet = registration.register_upload(
            site=Site.objects.get(), user=make_user(), files=[file]
        )
        work_shift()
        return packet.documents.get()

    assert check(1).rules_version == RULES_VERSION
    model = make_model()
    activation.activate(
        model,
        reason="It was compared with the other one.",
        expected_version=0,
        user=ines,
        by=ElectronicSignature(ines.actor, str(ines), activation.ACTIVATION_MEANING),
    )
    document = check(2)
    assert document.rules_version == name_rules(model.sha256) != RULES_VERSION
    assert list_entries(document.subject)[-1].rules == document.rules_version
    content = model.content
    LearnedModel.objects.update(content="{}")
    held = check(3)
    assert (held.state, held.code) == (DocumentState.HELD, "INTERNAL_ERROR")
    LearnedModel.objects.update(content=content)
