"""Tests of what is indexed when, and of the condition by which documents are searched."""

from itertools import cycle

import pytest
from django.core.management import call_command
from django.db import transaction

from audit import outbox
from ingestion.core.states import DocumentState
from ingestion.documents import downloads, search_index
from ingestion.models import Action, Document, IndexedPage
from ingestion.reading.provenance import describe_provenance
from ingestion.reading.results import Box
from ingestion.rules.findings import RuleFinding
from ingestion.search import indexes, similar, writing
from sites.roles import OPERATORS, QA_REVIEWERS
from tests.audit.support import application_role
from tests.factories import make_site, make_staff, make_user, verdict
from tests.ingestion.reading.documents import make_pdf
from tests.ingestion.review.reviewers import HARMFUL, decide, lead, sender
from tests.ingestion.search.readings import read_texts
from tests.ingestion.search.test_search import find
from tests.web.scenes import FILED, make_packet

__all__ = ["application_role"]

PRIVATE = verdict("IN_REVIEW", RuleFinding("PHI_SUSPECTED", 1, facts={}))

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    return make_site("0203")


@pytest.fixture
def mara(site):
    return make_user("mara", sites=(site,))


def test_the_condition_of_the_search_is_the_one_of_viewing_a_file(site, mara):
    """For each state, with and without quarantine, for a coordinator, an operator and QA."""
    odd = verdict("IN_REVIEW", RuleFinding("SITE_MISMATCH", 1, {"named": "1", "expected": "2"}))
    kinds = (odd, HARMFUL, PRIVATE)
    states = [state for state in DocumentState for _ in kinds]
    documents = [
        make_packet(site, mara, decided).documents.get()
        for _, decided in zip(states, cycle(kinds), strict=False)
    ]
    people = (mara, make_staff(QA_REVIEWERS), make_staff(OPERATORS))
    with transaction.atomic():  # and taken back, as the ledger has no entries of these states
        for document, state in zip(documents, states, strict=True):
            Document.objects.filter(pk=document.pk).update(state=state, doc_id=f"d{document.pk}")
        file = documents[states.index(DocumentState.DIVIDED)]
        for part_state in (DocumentState.ARCHIVED, DocumentState.IN_REVIEW):
            Document.objects.filter(pk=documents[0].pk).update(
                part_of=file, first_page=1, last_page=1, state=part_state
            )
            for person in people:
                rows = downloads.filter_viewable(Document.objects.all(), person)
                assert list_keys(rows) == [
                    each.pk
                    for each in Document.objects.order_by("pk")
                    if downloads.can_view_file(person, each)
                ]
            rows = downloads.filter_viewable(Document.objects.all())
            assert list_keys(rows) == [
                each.pk for each in Document.objects.order_by("pk") if downloads.is_file_open(each)
            ]
        transaction.set_rollback(True)


def list_keys(rows):
    return list(rows.order_by("pk").values_list("pk", flat=True))


def test_a_document_that_qa_files_in_spite_of_a_quarantine_is_indexed_by_a_message(
    site, mara, tmp_path
):
    content = make_pdf(lines=("The investigators brochure",))
    document = sender(site, mara, tmp_path)(HARMFUL, content)
    assert not IndexedPage.objects.exists()
    decide(document, Action.UNSEAL, lead("lena", "Lena Berg"))
    assert outbox.deliver_due(writing.REBUILD_KIND).delivered == 1
    assert [page for _, page, _ in find(mara, "brochure")] == [1]


def test_the_command_indexes_documents_of_earlier_releases_without_ocr(site, mara, tmp_path):
    content = make_pdf(lines=("The investigators brochure",), pages=2)
    document = sender(site, mara, tmp_path)(FILED, content)
    hidden = sender(site, mara, tmp_path)(HARMFUL, content + b"%")
    writing.delete_pages([document.pk])
    assert find(mara, "brochure") == []
    call_command("index_pages")
    assert [(pk, page) for pk, page, _ in find(mara, "brochure")] == [
        (document.pk, 2),
        (document.pk, 1),
    ]
    assert not hidden.indexed_pages.exists()
    assert not search_index.find_unindexed().exists()
    call_command("index_pages", "--rebuild")
    assert IndexedPage.objects.count() == 2


def test_a_region_of_a_page_is_found_by_its_own_words_only(site, mara):
    document = make_packet(site, mara, FILED, reading=read_texts("x")).documents.get()
    words = describe_provenance(read_texts(" ".join(f"word{n}" for n in range(30)))).page_words[1]
    page = writing.ReadPage(1, words, 612, 792)
    part = Document(
        pk=document.pk, site_id=document.site_id, part_of=document, first_page=1, last_page=1,
        region="0,0,0.5,1",
    )  # fmt: skip
    writing.replace_pages([(part, [page])])
    assert find(mara, '"word3"')
    assert find(mara, '"word29"') == []


def test_words_are_removed_from_one_entry_of_a_container_and_not_from_the_others(site, mara):
    container, first, second = (
        make_packet(site, mara, FILED, reading=read_texts(text)).documents.get()
        for text in ("container", "secretword", "secretword")
    )
    for entry in (first, second):  # as `documents.expansion` relates them
        entry.part_of = container
    writing.remove_words(first, {1: None})
    assert [document for document, _, _ in find(mara, "secretword")] == [second.pk]


def test_a_document_that_is_decided_again_has_the_words_of_the_last_reading(site, mara):
    document = make_packet(site, mara, FILED, reading=read_texts("before")).documents.get()
    pages = search_index.list_read_pages(describe_provenance(read_texts("after")))
    writing.replace_pages([(document, pages)])
    assert find(mara, "before") == []
    assert find(mara, "after")


@pytest.mark.only_on("postgresql", reason="SQLite has no roles")
def test_the_role_of_the_application_indexes_and_removes_words(application_role, site, mara):
    document = make_packet(site, mara, FILED, reading=read_texts("secretword")).documents.get()
    assert find(mara, "secretwort")
    writing.remove_words(document, {1: [Box(0, 0, 500, 500)]})
    assert find(mara, "secretwort") == []


@pytest.mark.only_on("postgresql", reason="SQLite has FTS5 always")
def test_without_trigrams_one_wrong_letter_is_forgiven_and_a_check_warns(site, mara, monkeypatch):
    monkeypatch.setattr(indexes, "_with_trigrams", set())
    assert search_index.check_trigrams(databases=["default"]) == []
    monkeypatch.setattr(indexes, "_with_trigrams", set())
    monkeypatch.setattr(indexes, "TRIGRAM_INDEX", "no_such_index")
    [warning] = search_index.check_trigrams(databases=["default"])
    assert warning.id == "ingestion.W090"
    make_packet(site, mara, FILED, reading=read_texts("investigator acknowledgement"))
    assert find(mara, "investigat0r")
    assert find(mara, "acknowiedgernent") == []


def test_words_that_differ_in_a_digit_are_not_alike():
    assert similar.is_alike("ct1234", "cti234")
    assert not similar.is_alike("ct1234", "ct1235")
    assert similar.is_alike("protoco1", "protocol")
