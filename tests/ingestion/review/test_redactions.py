"""Tests of redactions: what is recorded, what is rendered, and what can be recovered."""

import re

import numpy as np
import pytest
from pypdf import PdfReader

from audit.ledger import queries
from ingestion.core.file_parts import Division, DocumentPart, FilePart
from ingestion.core.renditions import RenditionKind
from ingestion.documents import downloads, redactions, search_index
from ingestion.documents.downloads import FileAccess
from ingestion.models import Action, Document, DocumentRendition, RemovedWords
from ingestion.reading import page_pictures
from ingestion.reading.page_pictures import PicturesFailed
from ingestion.review import signature_payload
from ingestion.review.decision_rules import list_permitted_actions
from ingestion.review.decisions import DecisionRefused
from ingestion.rules.findings import RuleFinding, parse_area
from ingestion.search import selection
from ingestion.search.query import parse_query
from tests.factories import make_filed, make_staff, verdict
from tests.ingestion.review.redacting import (
    OTHER,
    RECORD,
    find_text,
    make_pages,
    make_photograph,
    make_redaction,
    read_archived,
    redact,
    render_page,
    rotate,
    send_record,
    settle_part,
)
from tests.ingestion.review.reviewers import decide
from tests.ingestion.rules.printed_documents import make_printed

pytestmark = pytest.mark.django_db
SEVERAL = verdict("IN_REVIEW", RuleFinding("MULTIPLE_DOCUMENTS", 2, {"documents": "two"}))
SECRETS = ("Jane", "Roe", "1956", "00482113")


@pytest.fixture
def record(site, mara, tmp_path):
    return send_record(site, mara, tmp_path)


def find_rendition(document):
    return document.renditions.get(kind=RenditionKind.REDACTED)


def test_the_places_of_the_details_are_proposed(record):
    assert record.code == "PHI_SUSPECTED"
    page = redactions.propose(record).pages[1]
    words = record.extractions.last()
    assert words is not None
    assert (page.width, page.height) == (612.0, 792.0)
    assert len(page.boxes) == 3


def test_to_redact_is_the_usual_decision_until_it_was_done(record, ines):
    assert list_permitted_actions(ines, record)[0] is Action.REDACT
    redact(record, ines)
    record.refresh_from_db()
    assert list_permitted_actions(ines, record)[0] is not Action.REDACT
    assert Action.REDACT in list_permitted_actions(ines, record)


def test_who_sent_a_document_does_not_redact_it(record, ines):
    record.batch.submitted_by = ines
    record.batch.save()
    with pytest.raises(DecisionRefused):
        redact(record, ines)


def test_a_redaction_is_recorded_with_its_places_and_without_words(record, rafael):
    decision = redact(record, rafael)
    (entry,) = queries.list_entries_of_events(["document.redacted"], [record.subject])
    (page,) = entry.detail["redaction"]["pages"]
    assert (page["page"], page["areas"]) == (1, 3)
    assert len(parse_area(page["area"])) == 3
    assert entry.detail["redaction"]["rendition"] == find_rendition(record).sha256
    assert entry.detail["reason"]
    assert entry.actor == f"user:{rafael.pk}"
    assert signature_payload.find_changes(decision) == []
    for each in queries.list_entries(record.subject):
        # A digest may contain the digits of a year.
        assert not any(re.search(rf"\b{secret}\b", f"{each.detail}") for secret in SECRETS)
    assert {each.event for each in queries.list_entries(record.subject)} >= {
        "document.redacted",
        "document.rendition_made",
    }
    record.refresh_from_db()
    assert record.state == "IN_REVIEW"


def test_nothing_can_be_recovered_from_a_redacted_rendition(record, ines):
    original = read_archived(record.sha256)
    redact(record, ines)
    rendition = find_rendition(record)
    content = read_archived(rendition.sha256)
    assert find_text(original).count("Jane") == 1
    assert find_text(content).strip() == ""
    for secret in SECRETS:
        assert secret.encode() not in content
    for stream in original.split(b"stream\n")[1:]:
        assert stream[:40] not in content
    picture, scale = render_page(content)
    before, _ = render_page(original)
    for box in redactions.propose(record).pages[1].boxes:
        left, top, right, bottom = (round(side * scale) for side in box)
        inside = picture[top + 1 : bottom - 1, left + 1 : right - 1]
        assert inside.max() < 40, "one colour, up to the edge"
        assert before[top:bottom, left:right].min() < 200, "there was something"
    # The rest of the page is as it was.
    whole = np.asarray(picture).mean()
    assert whole > 200


def test_words_in_the_places_are_removed_from_the_index(record, ines):
    redact(record, ines)
    record.refresh_from_db()
    decide(record, Action.UNSEAL, ines)
    record.refresh_from_db()
    assert search_index.index_documents([record]) == 1
    rows = type(record).objects.all()

    def find(text):
        found = selection.find_pages(rows, parse_query(text), sites=None, limit=9)
        return [each.page.document_id for each in found.pages]

    assert find("Haemoglobin") == [record.pk]
    for secret in SECRETS:
        assert find(secret) == []
    assert RemovedWords.objects.filter(document=record).count() == 3


def test_what_fails_to_be_rendered_changes_nothing(record, ines, monkeypatch):
    async def fail(*_args, **_options):
        return PicturesFailed("no memory")

    monkeypatch.setattr(page_pictures, "render_pictures", fail)
    with pytest.raises(DecisionRefused, match="could not be made"):
        redact(record, ines)
    assert not record.qa_decisions.exists()
    assert not DocumentRendition.objects.exists()
    assert not redactions.is_redacted(record)


def test_a_place_is_required(record, ines):
    with pytest.raises(DecisionRefused, match="at least one place"):
        redact(record, ines, make_redaction())
    with pytest.raises(DecisionRefused, match="does not have"):
        redact(record, ines, make_redaction((1, 1, 9, 9), page=7))


def test_the_newest_redaction_counts_and_only_a_lead_shows_again_what_was_black(
    record, ines, rafael
):
    redact(record, rafael)
    first = find_rendition(record)
    record.refresh_from_db()
    more = redactions.propose(record).pages[1].boxes
    redact(record, rafael, make_redaction(*more, (60, 700, 200, 720)))
    record.refresh_from_db()
    second = redactions.find_rendition(record)
    assert second.pk != first.pk
    with pytest.raises(DecisionRefused, match="QA lead"):
        redact(record, rafael, make_redaction((60, 700, 200, 720)))
    redact(record, ines, make_redaction((60, 700, 200, 720)))


def test_a_filed_document_is_redacted_later(site, mara, ines, tmp_path):
    filed = send_record(site, mara, tmp_path, decided=verdict())
    assert filed.state == "ARCHIVED"
    assert Action.REDACT in list_permitted_actions(ines, filed)
    redact(filed, ines, make_redaction((50, 50, 300, 120)))
    filed.refresh_from_db()
    assert filed.state == "ARCHIVED"
    assert redactions.find_rendition(filed) is not None


@pytest.fixture
def divided(site, mara, tmp_path, ines):
    """A file of two pages, of which the first, a document of its own, names a participant."""
    file = send_record(site, mara, tmp_path, make_pages(RECORD, OTHER), decided=SEVERAL)
    two = Division((DocumentPart(FilePart(1, 1)), DocumentPart(FilePart(2, 2))), ())
    decide(file, Action.DIVIDE, ines, division=two)
    for part in file.parts.all():
        settle_part(part, verdict())
    file.refresh_from_db()
    return file


def test_others_see_the_rendition_of_a_filed_document_and_qa_the_original(record, ines, mara):
    assert downloads.find_access(record, mara) is FileAccess.NOTHING
    redact(record, ines)
    record.refresh_from_db()
    assert downloads.find_access(record, mara) is FileAccess.NOTHING
    decide(record, Action.UNSEAL, ines)
    record.refresh_from_db()
    rendition = find_rendition(record)
    auditor = make_staff("Auditors", "audrey")
    for person in (mara, auditor, None):
        assert downloads.find_access(record, person) is FileAccess.INERT
        assert downloads.choose_file(record, person).rendition == rendition
        with pytest.raises(FileNotFoundError):
            downloads.open_original(record, person)
    assert downloads.choose_file(record, ines).rendition is None
    assert downloads.choose_file(record, ines, rendition).rendition == rendition
    viewable = downloads.filter_viewable(Document.objects.all(), mara)
    assert list(viewable) == [record]


def test_the_same_bytes_are_redacted_wherever_they_are(record, ines, mara, site, tmp_path):
    redact(record, ines)
    decide_again = type(record).objects.get(pk=record.pk)
    decide(decide_again, Action.UNSEAL, ines)
    twin = make_filed(site, "cv", record.sha256)
    assert downloads.find_access(twin, mara) is FileAccess.INERT
    assert downloads.choose_file(twin, mara).rendition == find_rendition(record)
    assert twin in downloads.filter_viewable(Document.objects.all(), mara)


def test_a_redacted_part_is_shown_redacted_and_its_file_only_to_qa(divided, ines, mara):
    first, second = divided.parts.order_by("first_page")
    assert downloads.find_access(divided, mara) is FileAccess.ORIGINAL
    redact(first, ines, make_redaction((50, 50, 400, 200)))
    divided, first, second = (
        type(first).objects.get(pk=row.pk) for row in (divided, first, second)
    )
    offered = downloads.choose_file(first, mara)
    assert offered.rendition == find_rendition(first)
    with offered.open() as content:
        assert len(PdfReader(content).pages) == 1
    assert downloads.find_access(second, mara) is FileAccess.ORIGINAL
    assert downloads.find_access(divided, mara) is FileAccess.NOTHING
    viewable = set(downloads.filter_viewable(Document.objects.all(), mara))
    assert viewable == {first, second}
    assert downloads.find_access(divided, ines) is FileAccess.ORIGINAL
    redact_words = RemovedWords.objects.values_list("document", "page")
    assert set(redact_words) == {(divided.pk, 1)}


def test_a_redaction_of_a_file_withholds_its_parts_until_they_are_redacted(
    site, mara, tmp_path, ines
):
    file = send_record(site, mara, tmp_path, make_pages(RECORD, OTHER), decided=SEVERAL)
    redact(file, ines, make_redaction((50, 50, 400, 200)))
    file.refresh_from_db()
    two = Division((DocumentPart(FilePart(1, 1)), DocumentPart(FilePart(2, 2))), ())
    decide(file, Action.DIVIDE, ines, division=two)
    first, _ = file.parts.order_by("first_page")
    settle_part(first, verdict())
    first.refresh_from_db()
    assert downloads.find_access(first, mara) is FileAccess.NOTHING
    assert first not in downloads.filter_viewable(Document.objects.all(), mara)
    redact(first, ines)  # the places of its file are proposed
    first.refresh_from_db()
    assert downloads.find_access(first, mara) is FileAccess.INERT


def black_and_other_pixels(record):
    """Return the pixels in the proposed places of a rendition, as people see it, and the others."""
    picture, scale = render_page(read_archived(find_rendition(record).sha256))
    turned = record.extractions.last().pages[0].get("turned", 0)
    upright = np.rot90(np.squeeze(picture), -turned // 90)
    inside, others = [], np.ones(upright.shape, bool)
    for box in redactions.propose(record).pages[1].boxes:
        left, top, right, bottom = (round(side * scale) for side in box)
        inside.append(upright[top + 1 : bottom - 1, left + 1 : right - 1].ravel())
        others[top - 4 : bottom + 4, left - 4 : right + 4] = False
    return np.concatenate(inside), upright[others]


@pytest.mark.parametrize(
    ("rotation", "scanned"),
    [
        (90, False),
        pytest.param(180, False, marks=pytest.mark.slow),
        pytest.param(270, False, marks=pytest.mark.slow),
        pytest.param(90, True, marks=pytest.mark.slow),
    ],
)
def test_places_on_a_rotated_page_are_those_that_people_see(
    site, mara, ines, tmp_path, rotation, scanned
):
    lines = (*RECORD, *["The haemoglobin of the patient was stable in all of these weeks."] * 20)
    content = rotate(make_printed(*lines, scanned=scanned), rotation)
    record = send_record(site, mara, tmp_path, content)
    assert record.code == "PHI_SUSPECTED"
    assert record.extractions.last().pages[0].get("turned", 0) == (270 if scanned else 0)
    redact(record, ines)
    black, others = black_and_other_pixels(record)
    assert black.max() < 60
    assert (others < 60).mean() < 0.02, "nothing else is black"
    assert others.mean() > 200


@pytest.mark.slow
def test_a_photograph_is_redacted(site, mara, ines, tmp_path):
    photograph = make_photograph(RECORD)
    record = send_record(site, mara, tmp_path, photograph, suffix="jpg")
    assert record.code == "PHI_SUSPECTED"
    redact(record, ines)
    content = read_archived(find_rendition(record).sha256)
    assert photograph[200:400] not in content
    black, _ = black_and_other_pixels(record)
    assert black.max() < 60


def test_a_container_with_a_redacted_entry_is_for_qa_only(record, ines, mara, site):
    redact(record, ines)
    decide(Document.objects.get(pk=record.pk), Action.UNSEAL, ines)
    container = make_filed(site, "cv", "c" * 64)
    Document.objects.filter(pk=container.pk).update(state="DIVIDED")
    Document.objects.filter(pk=record.pk).update(part_of=container, entry=1)
    container, entry = Document.objects.get(pk=container.pk), Document.objects.get(pk=record.pk)
    assert downloads.find_access(entry, mara) is FileAccess.INERT
    assert downloads.find_access(container, mara) is FileAccess.NOTHING
    assert set(downloads.filter_viewable(Document.objects.all(), mara)) == {entry}
    assert downloads.find_access(container, ines) is FileAccess.ORIGINAL
    # The ledger has no entries of these changes.
    Document.objects.filter(pk=container.pk).update(state="ARCHIVED")
    Document.objects.filter(pk=record.pk).update(part_of=None, entry=0)
