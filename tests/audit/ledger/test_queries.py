"""Tests of the queries for entries of the ledger."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.ledger import queries
from audit.ledger.queries import EntrySearch
from tests.audit.support import write, write_many


def test_a_timeline_has_only_entries_of_its_subjects_oldest_first(db):
    write(0, subject="document:1", to_state="RECEIVED")
    write(0, subject="document:2", to_state="RECEIVED")
    write(0, subject="document:11", to_state="RECEIVED")
    write(1, subject="document:1", from_state="RECEIVED", to_state="ARCHIVED")
    states = [
        (entry.subject, entry.to_state)
        for entry in queries.list_entries("document:1", "document:2")
    ]
    assert states == [
        ("document:1", "RECEIVED"),
        ("document:2", "RECEIVED"),
        ("document:1", "ARCHIVED"),
    ]


def test_a_timeline_takes_one_query(db):
    write_many(30, detail={"name": "A. Berg"})
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert len(queries.list_entries("document:1")) == 30
    assert len(captured) == 1


def test_a_document_is_identified_by_its_site_and_doc_id(db):
    write(0, subject="document:1", site="DE-014", doc_id="CV-7")
    write(0, subject="document:2", site="FR-002", doc_id="CV-7")
    assert [entry.subject for entry in queries.list_document_entries("DE-014", "CV-7")] == [
        "document:1"
    ]


def test_entries_of_a_site_are_paged_newest_first(db):
    write_many(5, site="DE-014")
    write_many(5, subject="document:2", site="FR-002")
    of_site = EntrySearch(sites=["DE-014"])
    first = queries.find_entries(of_site, limit=3)
    rest = queries.find_entries(of_site, before=first[-1].seq, limit=3)
    assert [[entry.seq for entry in page] for page in (first, rest)] == [[5, 4, 3], [2, 1]]


def test_the_newest_entry_has_the_hash_of_the_head(db):
    assert queries.get_last_entry() is None
    write_many(3)
    newest = queries.find_entries(limit=1)[0]
    assert queries.get_last_entry() == (newest.seq, newest.hash) == (3, newest.hash)


def test_subjects_with_a_new_state_are_found_a_page_at_a_time(db, monkeypatch):
    monkeypatch.setattr(queries, "ROWS_PER_PAGE", 2)
    for n in range(3):
        for subject in ("document:1", "batch:1", "document:2"):
            write(n, subject=subject, to_state="RECEIVED")
    found = list(queries.iter_subjects("document:", since=1))
    assert sorted(found) == ["document:1"] * 2 + ["document:2"] * 3
    assert sorted(queries.iter_subjects("document:")) == ["document:1", "document:2"]


def test_the_last_state_is_that_of_the_last_state_change(db):
    write(0, to_state="RECEIVED")
    write(1, from_state="RECEIVED", to_state="ARCHIVED")
    write(2, event="document.viewed")
    write(0, subject="batch:1", to_state="QUEUED")
    assert list(queries.iter_subjects("document:")) == ["document:1"]
    assert list(queries.iter_subjects("document:", since=2)) == []
    last = queries.get_last_states(["document:1", "batch:1", "document:9"])
    assert {subject: (each.seq, each.state) for subject, each in last.items()} == {
        "document:1": (2, "ARCHIVED"),
        "batch:1": (4, "QUEUED"),
    }
