"""Tests of the numbers of entries: of recorded rows, and of subjects without a row."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.db.migrations import SeparateDatabaseAndState
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.chain import compute_event_id
from audit.ledger.log import LedgerError, ledger, record
from audit.ledger.redaction import redact_entry
from audit.models import Entry
from audit.verification.verify import verify_ledger
from ingestion.models import Batch, Document, Mailbox, PortalLimitState
from sites.models import Study, User
from sites.models.approval_requests import ApprovalRequest
from tests.audit.support import write
from tests.factories import make_batch, make_site, make_user

BY = Actor.person(7, "administrator")


def make_study():
    """Create a study and record its creation."""
    with ledger():
        study = Study.objects.create(protocol_number="ABC-1")
        study.record_at_revision("study.created", by=BY)
    return study


def change(row, event="study.changed", **facts):
    with ledger():
        row.record(event, by=BY, **facts)


def numbers(subject, among=range(-19, 20)):
    """Return the numbers of a subject's entries, in the order of the ledger."""
    known = {compute_event_id(subject, n): n for n in among}
    return [known[entry.event_id] for entry in queries.list_entries(subject)]


# Rows


def test_a_new_row_begins_with_number_0_and_counts_on(db):
    study = make_study()
    change(study)
    change(study)
    assert numbers(study.subject) == [0, 1, 2]
    assert Study.objects.get().revision == study.revision == 2


def test_an_entry_states_who_caused_it_and_in_which_role(db):
    study = make_study()
    change(study, detail={"why": "a new version"})
    entry = queries.list_entries(study.subject)[-1]
    assert (entry.event, entry.actor, entry.role) == ("study.changed", "user:7", "administrator")
    assert entry.detail["why"] == "a new version"


def test_an_instance_that_was_read_before_a_change_takes_the_next_number(db):
    study = make_study()
    older = Study.objects.get(pk=study.pk)
    change(study)
    change(older)
    assert numbers(study.subject) == [0, 1, 2]


def test_a_number_that_is_recorded_twice_is_refused_and_nothing_is_changed(db):
    study = make_study()

    def repeat():
        with ledger():
            Study.objects.filter(pk=study.pk).update(protocol_version="2.0")
            study.record_at_revision("study.created", by=BY)

    with pytest.raises(IntegrityError):
        repeat()
    assert Study.objects.get().protocol_version != "2.0"
    assert Entry.objects.count() == 1


def test_a_number_that_is_rolled_back_is_taken_again(db):
    study = make_study()

    def fail():
        with ledger():
            study.record("study.changed", by=BY)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    change(Study.objects.get(pk=study.pk))
    assert numbers(study.subject) == [0, 1]


def test_a_row_is_recorded_inside_a_ledger_block_only(db):
    study = make_study()
    with pytest.raises(LedgerError, match="outside"), transaction.atomic():
        study.record("study.changed", by=BY)
    assert Study.objects.get().revision == 0


def test_concurrent_changes_of_a_row_get_consecutive_numbers(transactional_db):
    study = make_study()

    def act():
        change(Study.objects.get(pk=study.pk))

    run_at_once(act, 6)
    assert numbers(study.subject) == list(range(7))
    assert verify_ledger().intact


def test_a_guarded_change_takes_a_number_once(db):
    study = make_study()
    older = Study.objects.get(pk=study.pk)
    with ledger():
        assert study.change_if_current({"protocol_version": "2.0"})
        study.record_at_revision("study.changed", by=BY)
        assert not older.change_if_current({"protocol_version": "3.0"})
    assert (older.protocol_version, older.revision) != ("3.0", 1)
    row = Study.objects.get()
    assert (row.protocol_version, row.revision) == (study.protocol_version, 1) == ("2.0", 1)
    assert numbers(study.subject) == [0, 1]


def test_a_document_takes_its_number_with_its_own_statement(db):
    document = make_batch(make_site()).documents.get()
    older = Document.objects.get(pk=document.pk)
    before = document.revision
    assert document.change_if_current({"attempts": 2})
    assert not older.change_if_current({"attempts": 3})
    row = Document.objects.get(pk=document.pk)
    assert (row.attempts, row.revision) == (2, before + 1)


# Subjects without a row


def test_the_ledger_numbers_subjects_without_a_row_below_zero(db):
    for _ in range(3):
        with ledger():
            record("system.clock_skew", subject="clock:ntp", by=Actor.software("clock"))
    assert numbers("clock:ntp") == [-1, -2, -3]


@pytest.mark.parametrize("others", [0, 80], ids=["few entries", "many entries"])
def test_several_entries_of_one_subject_in_a_block_get_different_numbers(db, others):
    with ledger():
        for n in range(others):
            record("document.archived", subject=f"document:{n}", n=0, by=BY)
        for _ in range(3):
            record("packet.receipt_downloaded", subject="packet:1", by=BY)
        record("packet.receipt_downloaded", subject="packet:2", by=BY)
    assert (numbers("packet:1"), numbers("packet:2")) == ([-1, -2, -3], [-1])
    assert verify_ledger().intact


def test_concurrent_entries_of_a_subject_without_a_row_are_all_recorded(transactional_db):
    def act():
        with ledger():
            record("packet.receipt_downloaded", subject="packet:1", by=BY)

    run_at_once(act, 6)
    assert numbers("packet:1") == [-1, -2, -3, -4, -5, -6]
    assert verify_ledger().intact


def test_a_detail_is_redacted_once(db):
    write(detail={"name": "A. Berg"})
    redact_entry(1, reason="entered by mistake", by=BY, authorised_by="user:7")
    assert numbers("entry:1") == [0]


# Databases of earlier releases

EARLIER_NUMBERS = {
    "counted from 0": ("packet:1", [0, 1, 2]),
    "one entry with number 0": ("backup:2026-08-14", [0]),
    "one entry with number 1": ("check:5", [1]),
    "failed sign-ins": ("signin:3", [0, 1]),
    "refused deletions": ("packet:1", [-1, -2]),
    "receipts and refused deletions": ("packet:1", [0, -1, 2, -2, -3, 5]),
    "the attempts of a chunk": ("chunk:9", [1, 4]),
}


@pytest.mark.parametrize(
    ("subject", "earlier"), EARLIER_NUMBERS.values(), ids=list(EARLIER_NUMBERS)
)
def test_numbers_go_on_where_an_earlier_release_counted_in_another_way(db, subject, earlier):
    for n in earlier:
        write(n, subject=subject)
    before = queries.list_entries(subject)
    for _ in range(4):
        with ledger():
            record("any.event", subject=subject, by=BY)
    found = numbers(subject)
    assert found[: len(earlier)] == earlier
    assert len(set(found)) == len(found) == len(earlier) + 4
    assert queries.list_entries(subject)[: len(earlier)] == before
    assert verify_ledger().intact


def earlier_models(app, migration):
    """Return the models of the previous release. The tables are those of the current release."""
    return MigrationLoader(connection).project_state([(app, migration)]).apps


def test_rows_of_the_previous_release_count_on(db):
    batch, person = make_batch(make_site()), make_user("mara")
    models = earlier_models("ingestion", "0026_post_alerts_by_outbox")
    portal = batch.documents.get().site.portal
    Mailbox.objects.create(user=person)
    PortalLimitState.objects.create(portal=portal)
    for name, key, column in (
        ("Batch", batch.pk, "transitions"),
        ("Document", batch.documents.get().pk, "transitions"),
        ("Mailbox", person.mailbox.pk, "transitions"),
        ("PortalLimitState", portal.pk, "switches"),
    ):
        rows = models.get_model("ingestion", name).objects.filter(pk=key)
        assert rows.update(**{column: 11}) == 1
        row = {m.__name__: m for m in (Batch, Document, Mailbox, PortalLimitState)}[name].lock(key)
        write(11, subject=row.subject)
        with ledger():
            row.record("any.event", by=BY)
        assert numbers(row.subject)[-2:] == [11, 12]
        assert rows.values_list(column, flat=True).get() == 12, "the previous release sees it"


def test_a_request_of_the_previous_release_keeps_what_it_is_about(db):
    models = earlier_models("clinical_sites", "0015_post_notices_by_outbox")
    person = make_user("mara")
    older = models.get_model("clinical_sites", "ApprovalRequest").objects.create(
        kind="identity", subject=person.subject, subject_name="Mara", asked_by_name="Ada",
        expires_at=timezone.now() + timedelta(days=1), revision=3,
    )  # fmt: skip
    request = ApprovalRequest.objects.about("identity", f"user:{person.pk}").get()
    assert (request.subject, request.about_key) == (f"approval:{older.pk}", person.pk)
    assert User.objects.get(pk=request.about_key) == person
    with ledger():
        request.record("approval.withdrawn", by=BY)
    assert numbers(request.subject) == [4]


def test_the_previous_release_and_this_one_read_the_same_second_factor(db):
    models = earlier_models("clinical_sites", "0017_post_join_investigators")
    now, person, earlier = timezone.now(), make_user("mara"), "second_step_since"
    rows = models.get_model("clinical_sites", "User").objects.filter(pk=person.pk)
    rows.update(**{earlier: now})
    assert User.objects.get(pk=person.pk).second_factor_since == now
    User.objects.filter(pk=person.pk).update(second_factor_since=None)
    assert rows.values_list(earlier, flat=True).get() is None


@pytest.mark.parametrize(
    ("app", "name"),
    [
        ("ingestion", "0027_post_name_the_numbers_of_entries"),
        ("clinical_sites", "0016_post_name_what_an_approval_is_about"),
        ("clinical_sites", "0018_post_name_the_second_factor"),
    ],
)
def test_the_upgrade_changes_names_in_the_code_and_nothing_in_the_database(db, app, name):
    for operation in MigrationLoader(connection).get_migration(app, name).operations:
        assert isinstance(operation, SeparateDatabaseAndState)
        assert operation.database_operations == []


def run_at_once(act, threads):
    """Run `act` in several threads, each with a connection of its own."""
    start, failures = threading.Barrier(threads), []

    def run():
        try:
            start.wait()
            act()
        except Exception as error:  # noqa: BLE001 - reported below
            failures.append(error)
        finally:
            connections.close_all()

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failures == []
