"""Tests of dividing a file into documents: all of it in one transaction, and every page once."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from audit.verification import verify
from audit.verification.start import Mode
from ingestion.certified_copies import certification
from ingestion.core.file_parts import (
    Division,
    DocumentPart,
    FilePart,
    PageExclusion,
    PageUse,
)
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import leases, worker_steps
from ingestion.documents import batches, division, transitions
from ingestion.documents.division import DivisionRefused
from ingestion.models import Chunk, Document, ExcludedPage
from ingestion.operations.division_check import check_divisions_against_ledger
from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource
from ingestion.rules.findings import RuleFinding
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from ingestion.rules.segmentation.separators import Separator
from tests import steps
from tests.factories import make_leased, make_site, verdict

pytestmark = pytest.mark.django_db
SHA = "a" * 64
SEVERAL = RuleFinding("MULTIPLE_DOCUMENTS", page=3, facts={"documents": "CV on pages 1 to 2; ..."})
CV, LETTER = Separator("1001", "cv", "Elena Márquez"), Separator("1001", "irb-approval")
CUT = ProposedCut(
    (
        PagePart(1, 2, type="cv", separator=CV),
        PagePart(3, 5, type="irb-approval", separator=LETTER),
    ),
    separators=(6, 8),
    blanks=(7,),
)


def file_being_checked(site=None, sha256=SHA):
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    assert steps.start_checking(document.pk, lease, sha256=sha256, size=10)
    document.refresh_from_db()
    return document, lease


def conclude(document, lease, cut=CUT, flags=(), **page):
    pages = tuple(
        PageReading(number, 612, 792, "", TextSource.NATIVE, **page) for number in range(1, 9)
    )
    reading = DocumentReading(MediaType.PDF, pages, flags=frozenset(flags))
    found = verdict("IN_REVIEW", SEVERAL)
    state = steps.conclude(document.pk, lease, found, reading=reading, cut=cut)
    document.refresh_from_db()
    return state


def divided(site=None, sha256=SHA):
    document, lease = file_being_checked(site, sha256)
    assert conclude(document, lease) is DocumentState.DIVIDED
    return document


def events(document):
    return [entry.event for entry in list_entries(document.subject)]


def lease_of_parts(document):
    """Lease the chunk of a divided file's parts."""
    chunk = document.parts.first().chunk
    Chunk.objects.exclude(pk=chunk.pk).delete()
    (lease,) = leases.claim_due_chunks(5, by="here:1:1")
    return lease


def test_a_file_that_certainly_holds_several_documents_is_divided_into_them():
    document = divided()
    assert (document.state, document.pages, document.code) == ("DIVIDED", 8, "")
    parts = list(document.parts.order_by("pk"))
    assert [part.doc_id for part in parts] == ["doc-1#1-2", "doc-1#3-5"]
    assert [(part.document_type, part.declared_person) for part in parts] == [
        ("cv", "Elena Márquez"),
        ("irb-approval", ""),
    ]
    for part in parts:
        assert (part.state, part.sha256, part.url) == ("RECEIVED", SHA, "")
        assert (part.batch, part.packet, part.site) == (
            document.batch,
            document.packet,
            document.site,
        )
        assert events(part) == ["document.received"]
    uses = list(document.excluded_pages.values_list("page", "use"))
    assert uses == [(6, "separator"), (7, "blank"), (8, "separator")]
    assert events(document) == ["document.received", "document.checking", "document.divided"]
    detail = list_entries(document.subject)[-1].detail["page_account"]
    assert detail["decided_by"] == "rules"
    assert [part["document"] for part in detail["parts"]] == [part.subject for part in parts]
    assert document.extractions.get().cut["parts"][1]["type"] == "irb-approval"


def test_a_person_reads_why_a_file_cannot_be_divided():
    document, lease = file_being_checked()
    assert division.explain_division_refusal(document) == "The file has not been read yet."
    conclude(document, lease, flags=[division.SIGNED_FLAG])
    assert (
        division.explain_division_refusal(document)
        == "The file is digitally signed. Its parts would lose the signature."
    )
    document.pages = 1
    assert division.explain_division_refusal(document) == "The file has only one page."


@pytest.mark.parametrize(
    ("cut", "reading"),
    [
        (ProposedCut(CUT.parts, CUT.separators, CUT.blanks, is_certain=False), {}),
        (ProposedCut((CUT.parts[0], PagePart(3, 5)), separators=(6, 8), blanks=(7,)), {}),
        (CUT, {"flags": ["digital-signature"]}),
        (CUT, {"error": "it cannot be decoded"}),
    ],
    ids=["uncertain", "a part without a separator sheet", "signed", "a page was not read"],
)
def test_in_doubt_the_file_stays_whole_and_goes_to_review_with_the_proposal(cut, reading):
    document, lease = file_being_checked()
    assert conclude(document, lease, cut, **reading) is DocumentState.IN_REVIEW
    assert not document.parts.exists()
    assert document.code == "MULTIPLE_DOCUMENTS"
    assert [part["pages"] for part in document.extractions.get().cut["parts"]] == [[1, 2], [3, 5]]


def test_a_cut_that_leaves_a_page_out_is_not_carried_out():
    document, lease = file_being_checked()
    with pytest.raises(DivisionRefused, match="Page 6 belongs to no document"):
        conclude(document, lease, ProposedCut(CUT.parts, separators=(7, 8)))
    document.refresh_from_db()
    assert document.state == "VALIDATING"
    assert not Document.objects.filter(part_of=document).exists()


def test_no_file_is_divided_before_the_upgrade_is_finished(monkeypatch):
    monkeypatch.setattr(division, "_APPLIED", set())
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied(*division.MIGRATION)
    document, lease = file_being_checked()
    assert conclude(document, lease) is DocumentState.IN_REVIEW
    recorder.record_applied(*division.MIGRATION)
    other, lease = file_being_checked(sha256="b" * 64)
    assert conclude(other, lease) is DocumentState.DIVIDED


def test_the_parts_are_queued_and_read_from_the_archived_file():
    document = divided()
    lease = lease_of_parts(document)
    assert [(item.spooled, item.terms, item.part) for item in lease.items] == [
        ("", None, FilePart(1, 2)),
        ("", None, FilePart(3, 5)),
    ]
    assert {item.expected_sha256 for item in lease.items} == {SHA}


def test_parts_of_one_file_are_no_duplicates_of_each_other_and_a_part_that_is_sent_again_is_one():
    site = make_site()
    for expected in (DocumentState.ARCHIVED, DocumentState.DEDUPED):
        document = divided(site)
        lease = lease_of_parts(document)
        for part in document.parts.order_by("pk"):
            is_new = steps.start_checking(part.pk, lease.lease_id, sha256=SHA, size=10)
            if is_new:
                steps.conclude(part.pk, lease.lease_id, verdict(), pages=2)
            part.refresh_from_db()
            assert part.state == expected
        assert division.is_finished(document)
    twins = Document.objects.filter(state="DEDUPED").values_list("doc_id", "duplicate_of__doc_id")
    assert {doc_id == twin for doc_id, twin in twins} == {True}


def test_the_whole_file_is_no_duplicate_of_one_of_its_parts():
    site = make_site()
    document = divided(site)
    lease = lease_of_parts(document)
    for part in document.parts.all():
        steps.start_checking(part.pk, lease.lease_id, sha256=SHA, size=10)
        steps.conclude(part.pk, lease.lease_id, verdict(), pages=2)
    whole, lease = file_being_checked(site)
    assert steps.conclude(whole.pk, lease, verdict(), pages=7) is DocumentState.ARCHIVED


def test_the_whole_file_can_be_certified_when_its_documents_are_filed_and_a_part_cannot():
    document = divided()
    assert "is not settled" in certification.explain_certification_refusal(document)
    lease = lease_of_parts(document)
    for part in document.parts.all():
        steps.start_checking(part.pk, lease.lease_id, sha256=SHA, size=10)
        steps.conclude(part.pk, lease.lease_id, verdict(), pages=2)
    assert certification.explain_certification_refusal(document) == ""
    part = document.parts.first()
    assert document.doc_id in certification.explain_certification_refusal(part)


def test_the_same_part_of_a_file_cannot_be_filed_twice():
    """The database refuses it, whatever a worker believes."""
    site = make_site()
    first, second = divided(site), divided(site)
    one, two = first.parts.first(), second.parts.first()
    Document.objects.filter(pk=one.pk).update(state="ARCHIVED")
    with pytest.raises(IntegrityError), transaction.atomic():
        Document.objects.filter(pk=two.pk).update(state="ARCHIVED")
    Document.objects.filter(pk=one.pk).update(state="RECEIVED")  # as the ledger says


def test_a_batch_ends_when_the_parts_of_its_files_are_settled():
    document, lease = file_being_checked()
    chunk = document.chunk
    conclude(document, lease)
    leases.return_chunk(chunk.pk, lease)
    document.batch.refresh_from_db()
    assert not BatchState(document.batch.state).is_final
    assert not division.is_finished(document)
    lease = lease_of_parts(document)
    for part in document.parts.all():
        steps.start_checking(part.pk, lease.lease_id, sha256=SHA, size=10)
        steps.conclude(part.pk, lease.lease_id, verdict(), pages=2)
    leases.return_chunk(lease.chunk, lease.lease_id)
    document.batch.refresh_from_db()
    assert document.batch.state == "COMPLETED"
    assert division.is_finished(document)


def test_parts_are_cancelled_with_their_batch():
    document = divided()
    Chunk.objects.exclude(pk=document.parts.first().chunk_id).delete()
    batches.cancel_batch(document.batch, by=worker_steps.WORKER_ACTOR)
    assert set(document.parts.values_list("state", flat=True)) == {"CANCELLED"}
    document.refresh_from_db()
    assert document.state == "DIVIDED"


class _Crash(Exception):
    pass


@pytest.mark.parametrize("step", ["create_parts", "move_document"])
def test_after_a_crash_while_a_file_is_divided_it_is_divided_once(monkeypatch, step):
    document, lease = file_being_checked()
    original = getattr(division, step)

    def crash(*arguments, **options):
        original(*arguments, **options)
        raise _Crash

    with monkeypatch.context() as patched:
        patched.setattr(division, step, crash)
        with pytest.raises(_Crash):
            conclude(document, lease)
    document.refresh_from_db()
    assert document.state == "VALIDATING"
    assert not ExcludedPage.objects.exists()
    assert Document.objects.count() == 1
    # The next lease takes the same steps again.
    with ledger():
        transitions.requeue_interrupted_documents(document.chunk)
    steps.start_checking(document.pk, lease, sha256=SHA, size=10)
    document.refresh_from_db()
    conclude(document, lease)
    assert document.parts.count() == 2
    assert events(document).count("document.divided") == 1


def test_a_part_that_holds_two_documents_is_divided_itself():
    document = divided()
    part = document.parts.get(first_page=3)
    lease = lease_of_parts(document)
    steps.start_checking(part.pk, lease.lease_id, sha256=SHA, size=10)
    steps.conclude(part.pk, lease.lease_id, verdict("IN_REVIEW", SEVERAL), pages=3)
    part.refresh_from_db()
    two = Division(
        (DocumentPart(FilePart(3, 3)), DocumentPart(FilePart(4, 4), "cv")),
        (PageExclusion(FilePart(5, 5), PageUse.SET_ASIDE, "a cover sheet"),),
    )
    with ledger():
        division.divide(Document.lock(part.pk), two, page_count=3)
    assert [each.doc_id for each in part.parts.order_by("pk")] == ["doc-1#3-3", "doc-1#4-4"]
    assert not division.is_finished(document)


def test_recorded_divisions_agree_with_the_ledger():
    divided()
    assert list(check_divisions_against_ledger()) == []
    assert not verify.verify_ledger(Mode.FULL).problems


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (
            lambda file: file.parts.filter(first_page=3).update(first_page=4),
            "these pages are not accounted for exactly once: 3.",
        ),
        (
            lambda file: file.excluded_pages.filter(page=6).delete(),
            "these pages are not accounted for exactly once: 6.",
        ),
        (
            lambda file: file.excluded_pages.filter(page=6).update(use="blank"),
            "its parts and excluded pages are not those of entry",
        ),
        (
            lambda file: Document.objects.filter(pk=file.pk).update(state="IN_REVIEW"),
            "has parts, but no entry records that it was divided.",
        ),
    ],
    ids=["pages of a part", "an excluded page is removed", "use of a page", "state"],
)
def test_a_change_of_a_division_without_an_entry_is_found(tamper, sentence):
    document = divided()
    with transaction.atomic():  # rolled back, because the ledger is verified after each test
        tamper(document)
        assert sentence in " ".join(check_divisions_against_ledger())
        transaction.set_rollback(True)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_after_any_division_each_page_is_in_one_document_or_excluded(data, db):
    """Whatever is proposed, a file is divided with each page accounted for, or not at all."""
    page = st.integers(1, 5)
    ranges = data.draw(st.lists(st.tuples(page, page).map(sorted), min_size=1, max_size=4))
    excluded = data.draw(st.lists(page, max_size=2, unique=True))
    proposed = Division(
        tuple(DocumentPart(FilePart(first, last)) for first, last in ranges),
        tuple(PageExclusion(FilePart(each, each), PageUse.BLANK) for each in excluded),
    )
    document, _lease = file_being_checked()
    try:
        with ledger():
            division.divide(Document.lock(document.pk), proposed, page_count=5)
    except (DivisionRefused, IntegrityError):
        assert not document.parts.exists()
    else:
        pages = [number for part in document.parts.all() for number in part.page_numbers]
        pages += document.excluded_pages.values_list("page", flat=True)
        assert sorted(pages) == [1, 2, 3, 4, 5]
