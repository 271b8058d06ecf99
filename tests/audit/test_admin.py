"""Tests of the pages of entries in the admin."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from audit.ledger.actors import add_process
from audit.models import Entry
from tests.audit.support import write, write_many
from tests.factories import make_user

LIST = "admin:audit_entry_changelist"


@pytest.fixture
def inspector(client, db):
    client.force_login(make_user("inspector", is_staff=True, is_superuser=True))
    return client


def test_the_list_shows_what_happened_when_where_and_by_whom(inspector):
    write(site="DE-014", from_state="VALIDATING", to_state="REJECTED", code="EXPIRED_DOCUMENT")
    page = inspector.get(reverse(LIST)).content.decode()
    for text in (
        "document.archived",
        "DE-014",
        "VALIDATING → REJECTED",
        "EXPIRED_DOCUMENT",
        "system:worker",
    ):
        assert text in page
    assert Entry.objects.get().hash[:4] in page


def test_an_entry_shows_its_line_and_its_hash(inspector):
    write(detail={"name": "A. Berg"})
    entry = Entry.objects.get()
    page = inspector.get(reverse("admin:audit_entry_change", args=[entry.pk])).content.decode()
    assert entry.hash in page
    assert "detail_commit" in page
    assert "A. Berg" in page


def test_an_entry_without_a_detail_is_shown(inspector):
    write()
    assert inspector.get(reverse("admin:audit_entry_change", args=[1])).status_code == 200


@pytest.mark.requirement("R04")
@pytest.mark.parametrize(
    ("view", "args"),
    [("add", []), ("delete", [1]), ("change", [1])],
    ids=["add", "delete", "change"],
)
def test_an_administrator_cannot_change_the_ledger(inspector, view, args):
    write()
    response = inspector.post(reverse(f"admin:audit_entry_{view}", args=args), {"actor": "x"})
    assert response.status_code == 403
    assert Entry.objects.get(pk=1).actor == add_process("system:worker")


def test_a_search_finds_whole_subjects_documents_and_correlation_ids(inspector):
    write(0, subject="document:1", doc_id="CV-7", correlation_id="P-1")
    write(0, subject="document:11", doc_id="CV-77", correlation_id="P-11")
    for query in ("document:1", "CV-7", "P-1"):
        found = inspector.get(reverse(LIST), {"q": query}).context["cl"].queryset
        assert [entry.subject for entry in found] == ["document:1"]


def test_the_last_number_is_the_count_and_searches_are_counted_up_to_a_limit(
    inspector, monkeypatch
):
    write_many(30)
    write_many(20, subject="document:2")
    monkeypatch.setattr("audit.admin.MAX_COUNTED_ENTRIES", 10)
    monkeypatch.setattr("audit.admin.EntryAdmin.list_per_page", 20)
    pages = [inspector.get(reverse(LIST), {"p": n}).context["cl"] for n in (1, 2, 3)]
    assert {page.result_count for page in pages} == {50}
    seqs = [entry.seq for page in pages for entry in page.result_list]
    assert seqs == list(range(50, 0, -1))
    found = inspector.get(reverse(LIST), {"q": "document:2"}).context["cl"]
    assert found.result_count == 10
    assert {entry.subject for entry in found.result_list} == {"document:2"}


def test_a_search_without_a_match_finds_nothing(inspector):
    write(subject="document:1")
    assert inspector.get(reverse(LIST), {"q": "document:7"}).context["cl"].result_count == 0


def test_the_number_of_queries_does_not_depend_on_the_number_of_entries(inspector):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            inspector.get(reverse(LIST))
        return len(captured)

    write_many(2, site="DE-014", detail={"name": "A. Berg"})
    few = queries()
    write_many(50, subject="document:2", site="FR-002", detail={"name": "A. Berg"})
    assert queries() == few
