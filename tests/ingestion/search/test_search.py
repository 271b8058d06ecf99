"""Tests that every word that was read is found, by those who may view its page and nobody else."""

import pytest
from django.db import connection

from ingestion.documents import downloads
from ingestion.models import Document, IndexedPage, IndexedWord
from ingestion.reading.provenance import describe_provenance, unpack_page_words
from ingestion.reading.results import Box, DocumentReading, MediaType, PageReading, TextSource, Word
from ingestion.rules.findings import RuleFinding
from ingestion.search import indexes, selection, writing
from ingestion.search.query import Match, parse_query
from sites.roles import QA_REVIEWERS
from tests.factories import make_site, make_staff, make_user, verdict
from tests.ingestion.search.readings import read_texts
from tests.web.scenes import make_packet

pytestmark = pytest.mark.django_db
REJECTED = verdict("REJECTED", RuleFinding("SIGNATURE_MISSING", 1, {"role": "the chair"}))
QUARANTINED = verdict("IN_REVIEW", RuleFinding("ACTIVE_CONTENT", 1, {"what": "javascript"}))
IN_REVIEW = verdict("IN_REVIEW", RuleFinding("SITE_MISMATCH", 1, {"named": "1", "expected": "2"}))


@pytest.fixture
def site(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    return make_site("0203")


@pytest.fixture
def mara(site):
    return make_user("mara", sites=(site,))


@pytest.fixture
def file_page(site, mara):
    """Return a function that files a document with these texts of its pages."""

    def file(*texts, decided=None, at=None, by=None):
        packet = make_packet(
            at or site, by or mara, decided or verdict(), reading=read_texts(*texts)
        )
        return packet.documents.get()

    return file


def search(person, text, **options):
    documents = downloads.filter_viewable(Document.objects.visible_to(person), person)
    sites = None
    if not person.sees_all_sites:
        sites = list(person.memberships.values_list("site", flat=True))
    return selection.find_pages(
        documents, parse_query(text), sites=sites, **{"limit": 20, **options}
    )


def find(person, text, **options):
    """Return document, page and kind of each match."""
    pages = search(person, text, **options).pages
    return [(each.page.document_id, each.page.page, each.match) for each in pages]


def test_words_are_found_on_their_page_with_their_places(file_page, mara):
    document = file_page("Delegation of authority", "The sub-investigator signed")
    assert find(mara, "delegation AUTHORITY") == [(document.pk, 1, Match.EXACT)]
    [found] = search(mara, "signed").pages
    assert (found.page.page, found.found.boxes) == (2, [(40, 10, 55, 20)])
    assert [part.text for part in found.found.snippet if part.is_match] == ["signed"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ethikkommission der Universität Zürich", "universitat zurich"),
        ("Łódź Æsir Straße", "lodz aesir strasse"),
        ("Protocol No. CT-1234/56", "CT-1234"),
        ("药物 临床 试验 机构", "临床试验"),
        ("药物临床试验机构", "床"),
        ("治験審査委員会の結果", "審査委員会"),
        ("임상시험계획서를 승인", "임상시험"),
        ("Протокол исследования", "ПРОТОКОЛ"),
        ("the investi- gator", '"investi gator"'),
        ("O'Brien & Søn", "o'brien son"),
        ("การวิจัยทางคลินิก", "วิจัย"),
    ],
)
def test_words_of_many_languages_are_found_without_regard_to_accents(file_page, mara, text, query):
    document = file_page(text)
    assert find(mara, query) == [(document.pk, 1, Match.EXACT)]


def test_a_word_that_is_divided_at_the_end_of_a_line_is_found_as_a_whole(file_page, mara):
    words = (
        Word("investi-", Box(300, 10, 340, 20), 90.0),
        Word("gator", Box(10, 22, 30, 32), 90.0),
    )
    page = PageReading(1, 612, 792, "investi-\ngator", TextSource.OCR, words)
    document = file_page("x")
    writing.replace_pages([(document, [read_page(page)])])
    [found] = search(mara, "investigator").pages
    assert found.match is Match.EXACT
    assert len(found.found.boxes) == 2


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the protoco1 was approved", "protocol"),
        ("the protocol was approved", "protokol"),
        ("govemment agency", "government"),
        ("investigat0r signature", "investigator"),
        ("principalinvestigator", "investigator"),
        ("acknowiedgernent of receipt", "acknowledgement"),
        ("药物临床式验机构", "临床试验机构"),
    ],
)
def test_misread_and_misspelt_words_are_found_as_similar(file_page, mara, text, query):
    document = file_page(text)
    assert find(mara, query) == [(document.pk, 1, Match.SIMILAR)]
    [found] = search(mara, query).pages
    assert any(part.is_match for part in found.found.snippet)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("protocol CT1234", "CT1235"),
        ("2026", "2025"),
        ("exact protoco1", '"exact protocol"'),
        ("clinical of trial", '"clinical trial"'),
        ("site 12", "=12"),
    ],
)
def test_other_numbers_and_other_phrases_are_not_found(file_page, mara, text, query):
    file_page(text)
    expected = [] if query != "=12" else [Match.EXACT]
    assert [match for _, _, match in find(mara, query)] == expected


def test_exact_matches_come_before_longer_words_and_similar_ones_each_newest_first(file_page, mara):
    texts = ("protocols", "protoco1", "protocol", "protocol two", "protoc0l")
    pages = [file_page(text).pk for text in texts]
    expected = [pages[n] for n in (3, 2, 0, 4, 1)]
    assert [document for document, _, _ in find(mara, "protocol")] == expected
    # The list can be read in parts of any size.
    seen, after = [], None
    while True:
        found = search(mara, "protocol", limit=2, after=after)
        seen += [each.page.document_id for each in found.pages]
        if (after := found.next) is None:
            break
    assert seen == expected


@pytest.mark.parametrize("sites_in_order", [0, 20])
def test_the_index_finds_what_is_older_than_the_pages_that_are_read_in_order(
    file_page, mara, monkeypatch, sites_in_order
):
    monkeypatch.setattr(selection, "NEWEST_PAGES", 2)
    monkeypatch.setattr(selection, "NEWEST_PAGES_OF_SITES", 2)
    monkeypatch.setattr(selection, "MAX_SITES_IN_ORDER", sites_in_order)
    documents = [file_page(f"protocol {number}").pk for number in range(5)]
    assert [document for document, _, _ in find(mara, "protocol")] == documents[::-1]
    assert [document for document, _, _ in find(mara, "1 protocol")] == [documents[1]]
    assert [document for document, _, _ in find(mara, "proto")] == documents[::-1]
    reviewer = make_staff(QA_REVIEWERS)
    assert [document for document, _, _ in find(reviewer, "protocol")] == documents[::-1]


@pytest.mark.parametrize("sites_in_order", [0, 20])
def test_many_newer_matches_that_the_reader_may_not_see_hide_none_of_the_others(
    file_page, mara, monkeypatch, sites_in_order
):
    monkeypatch.setattr(selection, "MIN_MATCHES", 1)
    monkeypatch.setattr(selection, "GROWTH_OF_MATCHES", 2)
    monkeypatch.setattr(selection, "MAX_SITES_IN_ORDER", sites_in_order)
    seen = [file_page("protocol A").pk, file_page("protocol B").pk]
    for _ in range(4):
        file_page("protocol C", decided=QUARANTINED)
    seen.append(file_page("protocol D").pk)
    reviewer = make_staff(QA_REVIEWERS)
    for text in ("protocol", "proto", "pratocol"):
        for person in (mara, reviewer):
            assert [document for document, _, _ in find(person, text)] == seen[::-1]
    assert [document for document, _, _ in find(mara, "protocol", limit=2)] == seen[:0:-1]


def test_nothing_of_another_site_is_found(file_page, mara):
    elsewhere = make_site("0999")
    nora = make_user("nora", sites=(elsewhere,))
    other = file_page("secretword", at=elsewhere, by=nora)
    own = file_page("secretwort")
    assert find(mara, "secretword") == [(own.pk, 1, Match.SIMILAR)]
    assert find(nora, "secretword") == [
        (other.pk, 1, Match.EXACT),
    ]
    assert find(make_user("nobody"), "secretword") == []
    assert find(make_user("staff", is_staff=True), "secretword") == []


@pytest.mark.parametrize(
    ("decided", "site_finds", "reviewer_finds"),
    [
        (verdict(), True, True),
        (REJECTED, True, True),
        (IN_REVIEW, False, True),
        (QUARANTINED, False, False),
    ],
)
def test_a_document_is_found_by_those_who_may_view_its_pages(
    file_page, mara, decided, site_finds, reviewer_finds
):
    document = file_page("secretword", decided=decided)
    reviewer = make_staff(QA_REVIEWERS)
    for person, finds in ((mara, site_finds), (reviewer, reviewer_finds)):
        assert bool(find(person, "secretword")) is finds
        assert bool(find(person, "secretwort")) is finds
        if finds:
            assert downloads.can_view_file(person, document)


def read_page(page):
    read = describe_provenance(DocumentReading(MediaType.PDF, (page,)))
    return writing.ReadPage(page.number, read.page_words[page.number], page.width, page.height)


def rows_with(word):
    """Return how many rows of all tables of the index contain a word."""
    count = IndexedWord.objects.filter(word__contains=word).count()
    for row in IndexedPage.objects.all():
        count += sum(word in each.text for each in unpack_page_words(bytes(row.words)))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT count(*) FROM ingestion_indexedpage WHERE tokens::text LIKE %s",
                [f"%{word}%"],
            )
            return count + cursor.fetchone()[0]
        for table in (indexes.FTS_PAGES, indexes.FTS_WORDS):
            for shadow in ("content", "data", "idx", "docsize"):
                cursor.execute(f"SELECT * FROM {table}_{shadow}")  # noqa: S608
                for row in cursor.fetchall():
                    cells = (
                        cell if isinstance(cell, bytes) else str(cell).encode() for cell in row
                    )
                    count += sum(word.encode() in cell for cell in cells)
    return count


def test_removed_words_are_gone_from_all_tables_and_stay_away(file_page, mara):
    document = file_page("participant secretword consented", "another secretword page")
    kept = file_page("secretive kept")
    assert rows_with("secretword") > 0
    writing.remove_words(document, {1: [Box(22, 12, 30, 18)]})
    assert find(mara, "secretword") == [(document.pk, 2, Match.EXACT)]
    [found] = search(mara, "participant").pages
    assert "secretword" not in " ".join(part.text for part in found.found.snippet)
    writing.remove_words(document, {2: None})
    assert rows_with("secretword") == 0
    assert find(mara, "secretword") == []
    assert find(mara, "secretwort") == []
    assert find(mara, '"another"') == []
    assert find(mara, "consented") == [(document.pk, 1, Match.EXACT)]
    assert find(mara, "secretive") == [(kept.pk, 1, Match.EXACT)]
    # Indexing the document again does not bring them back.
    pages = [read_page(page) for page in read_texts("participant secretword consented", "x").pages]
    writing.replace_pages([(document, pages)])
    assert rows_with("secretword") == 0
    assert find(mara, "consented") == [(document.pk, 1, Match.EXACT)]


def test_words_without_a_place_are_removed_with_any_area_of_their_page(file_page, mara):
    document = file_page("x")
    page = PageReading(1, 612, 792, "secretword", TextSource.NATIVE)
    writing.replace_pages([(document, [read_page(page)])])
    assert find(mara, "secretword")
    writing.remove_words(document, {1: [Box(0, 0, 1, 1)]})
    assert rows_with("secretword") == 0
