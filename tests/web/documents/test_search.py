"""The search page, and the page that it leads to."""

import pytest

from tests.ingestion.search.readings import read_texts
from tests.web.conftest import text
from tests.web.scenes import FILED, IN_REVIEW, make_packet


@pytest.fixture
def filed(site, mara):
    reading = read_texts("first page", "signed by the principal investigator")
    return make_packet(site, mara, FILED, reading=reading).documents.get()


def test_a_result_leads_to_its_page_with_the_words_marked(signed_in, filed):
    page = text(signed_in.get("/search/?q=Investigator"))
    address = f"/documents/{filed.pk}/pages/2/found/?q=Investigator"
    assert f'href="{address}"' in page
    assert "<mark>investigator</mark>" in page
    assert "Site 0203" in page
    opened = text(signed_in.get(address))
    assert "are marked" in opened
    assert '<rect x="76.0" y="6.0"' in opened
    assert f'href="/documents/{filed.pk}/pages/1/found/?q=Investigator"' in opened


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "Finds words on the pages"),
        ("nothinglikethis", "No page that you may view has these words"),
        ("%22%22", "Enter at least one word or number"),
        ("a" * 201, "The search text is too long. Enter at most 200 characters."),
        ("+".join(f"w{number}" for number in range(13)), "Enter at most 12 words or phrases."),
        ("invstigator", "These pages have similar words"),
        ("%22principal+investigator%22", "Best matches"),
        ("<script>", "No page that you may view"),
        ("%00", "Enter at least one word"),
    ],
)
def test_every_query_is_answered_in_plain_words(signed_in, filed, query, sentence):
    page = text(signed_in.get(f"/search/?q={query}"))
    assert sentence in page
    assert "<script>&quot" not in page


def test_more_matches_are_on_further_pages(signed_in, site, mara, monkeypatch):
    monkeypatch.setattr("web.documents.search.RESULTS_PER_PAGE", 1)
    for number in range(2):
        make_packet(site, mara, FILED, reading=read_texts(f"protocol {number}"))
    first = signed_in.get("/search/?q=protocol")
    assert "protocol</mark> 1" in text(first)
    second = signed_in.get(f"/search/?{first.context['next_query']}")
    assert "protocol</mark> 0" in text(second)
    assert "next_query" not in second.context


@pytest.mark.requirement("R15")
def test_pages_of_another_site_are_not_found(stranger, filed):
    assert "No page that you may view" in text(stranger.get("/search/?q=investigator"))
    assert stranger.get(f"/documents/{filed.pk}/pages/2/found/?q=a").status_code == 404


def test_the_site_does_not_find_the_words_of_a_document_in_review(signed_in, site, mara):
    reading = read_texts("secretword")
    document = make_packet(site, mara, IN_REVIEW, reading=reading).documents.get()
    assert "No page that you may view" in text(signed_in.get("/search/?q=secretword"))
    found = signed_in.get(f"/documents/{document.pk}/pages/1/found/?q=secretword")
    assert found.status_code == 404


def test_a_page_that_the_document_does_not_have_is_not_found(signed_in, filed):
    for page in (0, 3, 10**30):
        found = signed_in.get(f"/documents/{filed.pk}/pages/{page}/found/?q=a")
        assert found.status_code == 404
    assert "No words on this page match" in text(
        signed_in.get(f"/documents/{filed.pk}/pages/1/found/?q=investigator")
    )


@pytest.mark.parametrize("role", ["Operations", "Auditors", "QA reviewers"])
def test_staff_search_from_the_navigation(as_role, filed, role):
    client = as_role(role)
    page = text(client.get("/search/?q=investigator"))
    assert '<a href="/search/" aria-current="page">Search</a>' in page
    assert "<mark>investigator</mark>" in page
