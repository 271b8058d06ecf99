"""The search of the interface: what a token finds, and what it is told about a query."""

import pytest

from sites.models import TokenScope
from tests.api.conftest import Program, check_problem, make_token
from tests.factories import make_site, make_user
from tests.ingestion.search.readings import read_texts
from tests.web.scenes import FILED, IN_REVIEW, REJECTED, make_packet


def file_texts(site, *texts, decided=FILED):
    packet = make_packet(site, make_user(), decided, reading=read_texts(*texts))
    return packet.documents.get()


def test_a_page_that_matches_has_its_document_its_place_and_a_snippet(program, site):
    document = file_texts(site, "first page", "signed by the principal investigator")
    body = program.get("search?q=investigator").json()
    [item] = body["items"]
    assert (item["document"], item["page"], item["match"]) == (document.pk, 2, "exact")
    assert item["words"] == ["investigator"]
    assert item["snippet"] == "signed by the principal investigator"
    assert item["places"] == [[80, 10, 95, 20]]
    assert item["url"].endswith(f"/api/v1/documents/{document.pk}")
    assert body["next"] is None


def test_results_are_listed_in_pages_that_link_to_the_next(program, site):
    documents = [file_texts(site, f"protocol {number}").pk for number in range(3)]
    answer = program.get("search?q=protocol&limit=2")
    first = answer.json()
    assert [item["document"] for item in first["items"]] == documents[:0:-1]
    assert answer["Link"] == f'<{first["next"]}>; rel="next"'
    second = program.get(first["next"].removeprefix("http://testserver")).json()
    assert [item["document"] for item in second["items"]] == documents[:1]
    assert second["next"] is None


def test_only_documents_are_found_whose_originals_the_token_may_download(
    program, other_program, ops, site
):
    document = file_texts(site, "secretword")
    for decided in (REJECTED, IN_REVIEW):
        file_texts(site, "secretword", decided=decided)
    found = {"items": [document.pk], "other": [], "ops": [document.pk]}
    for name, own in (("items", program), ("other", other_program), ("ops", ops)):
        items = own.get("search?q=secretword").json()["items"]
        assert [item["document"] for item in items] == found[name]
    assert other_program.get("search?q=secretwort").json() == {"items": [], "next": None}


def test_a_token_needs_the_scope_to_download(site):
    reader = Program(*make_token(TokenScope.READ, site=site))
    check_problem(reader.get("search?q=protocol"), 403)


@pytest.mark.parametrize(
    "query", ["", "?q=", "?q=%22%22", "?q=%2B-*", f"?q={'a' * 201}", f"?q={'a+b' * 7}", "?q=%00"]
)
def test_queries_that_cannot_be_searched_are_problems(program, query):
    if query.endswith("a+b" * 7):
        query = "?q=" + "+".join(f"w{number}" for number in range(13))
    check_problem(program.get(f"search{query}"), 422)


@pytest.mark.parametrize(
    "query", ["%22open", "a%20AND", "NEAR(a", "'%20OR%201=1", "tokens:a", "a*%20-b%20%5E", "(", "%"]
)
def test_operators_and_quotes_have_no_meaning(program, site, query):
    file_texts(site, "open a and near")
    assert program.get(f"search?q={query}").status_code in {200, 422}


def test_a_cursor_of_any_size_is_answered(program, site):
    file_texts(site, "protocol")
    for after in (0, 10**18, 2 * 10**18 + 5, 9 * 10**18, 2**63 - 1):
        assert program.get(f"search?q=protocol&after={after}").status_code == 200
    check_problem(program.get("search?q=protocol&after=x"), 422)


def test_a_token_of_another_site_learns_nothing_from_the_number_of_matches(site):
    own = make_site("0999")
    program = Program(*make_token(TokenScope.DOWNLOAD, site=own))
    for _ in range(3):
        file_texts(site, "protocol hidden")
    document = file_texts(own, "protocol shown")
    body = program.get("search?q=protocol&limit=1").json()
    assert [item["document"] for item in body["items"]] == [document.pk]
    assert body["next"] is None
