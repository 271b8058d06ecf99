"""Tests that details are deleted from the ledger only by a recorded redaction."""

import threading

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.urls import reverse

from audit.ledger import chain, queries
from audit.ledger.actors import Actor, add_process
from audit.ledger.log import ledger, record, run_after_append
from audit.ledger.redaction import RedactionError, redact_entry
from audit.models import Entry, EntryDetail
from tests.audit.support import check_deferred_constraints, sql, write
from tests.factories import make_user

REASON = "A patient's name was typed into the reason."
BY = {"by": Actor("system:redact", "ops"), "authorised_by": "user:1"}
postgresql_only = pytest.mark.only_on(
    "postgresql", reason="SQLite has no roles, and one writer at a time"
)
sqlite_only = pytest.mark.only_on("sqlite", reason="a statement of SQLite")


@pytest.fixture
def entry(db):
    write(detail={"reason": "for J. Doe, born 1961"}, site="DE-014")
    return Entry.objects.get()


@pytest.fixture
def officer(db):
    person = make_user("officer", is_staff=True, printed_name="Ann Berg")
    permissions = Permission.objects.filter(codename__in=["redact", "view_entry"])
    person.user_permissions.set(permissions)
    return person


class Session:
    """Another connection to the same database, whose statements may have to wait."""

    def __init__(self):
        self._connection = connection.copy()
        self._thread, self._error = None, ""

    def run(self, statement):
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def begin(self, statement, values):
        """Start a statement in a thread. Return when it waits for a lock or has ended."""
        pid = self._connection.connection.info.backend_pid
        self._thread = threading.Thread(target=self._execute, args=(statement, values))
        self._thread.start()
        waits = "SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted"
        while self._thread.is_alive() and not sql(waits, pid):
            self._thread.join(0.01)

    def _execute(self, statement, values):
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement, values)
        except DatabaseError as error:
            self._error = str(error)

    def error(self):
        self._thread.join(120)
        return self._error

    def close(self):
        self._connection.close()


@pytest.fixture
def another_session(transactional_db):
    session = Session()
    session._connection.inc_thread_sharing()
    session._connection.ensure_connection()
    yield session
    session.close()


def redact_in_admin(client, *entries, reason=REASON):
    sent = {"action": "redact_details", "_selected_action": [each.pk for each in entries]}
    address = reverse("admin:audit_entry_changelist")
    return client.post(address, sent | {"reason_for_change": reason}, follow=True).content.decode()


def count_valid_entries():
    """Follow the chain to its end, without the details, and return the number of entries."""
    walk = chain.Walk()
    for each in Entry.objects.order_by("seq"):
        walk.step(each.seq, each.body, each.hash)
    return walk.seq


@pytest.mark.requirement("R38")
def test_a_redaction_deletes_the_detail_and_records_who_did_it_and_why(entry):
    redact_entry(1, reason=REASON, **BY)
    assert not EntryDetail.objects.filter(entry=1).exists()
    redaction = queries.find_entries(limit=1)[0]
    assert (redaction.event, redaction.subject, redaction.site) == (
        "ledger.detail_redacted",
        "entry:1",
        "DE-014",
    )
    assert redaction.detail == {"reason": REASON, "authorised_by": "user:1"}
    assert "Doe" not in str(list(EntryDetail.objects.values())) + redaction.hash
    assert count_valid_entries() == 2


@pytest.mark.requirement("R38")
def test_the_database_refuses_to_delete_a_detail_without_an_entry_of_its_redaction(entry):
    write(1, detail={"name": "another"})
    redact_entry(1, reason=REASON, **BY)
    with pytest.raises(IntegrityError, match="on record"), transaction.atomic():
        sql("DELETE FROM audit_entrydetail")
    assert set(EntryDetail.objects.values_list("pk", flat=True)) == {2, 3}


INSERTIONS = [
    "INSERT INTO audit_entrydetail (entry_id, salt, detail) VALUES (%s, %s, %s)",
    pytest.param(
        "INSERT OR REPLACE INTO audit_entrydetail (entry_id, salt, detail) VALUES (%s, %s, %s)",
        marks=sqlite_only,
    ),
    pytest.param(
        "INSERT INTO audit_entrydetail (entry_id, salt, detail) VALUES (%s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        id="upsert",
    ),
]


@pytest.mark.requirement("R38")
@pytest.mark.parametrize("statement", INSERTIONS)
def test_a_redacted_detail_cannot_be_inserted_again(entry, statement):
    row = EntryDetail.objects.values_list("entry_id", "salt", "detail").get()
    redact_entry(1, reason=REASON, **BY)
    with pytest.raises(IntegrityError, match=r"had it|cannot be told"), transaction.atomic():
        sql(statement, *row)
    assert not EntryDetail.objects.filter(entry=1).exists()


@postgresql_only
@pytest.mark.requirement("R38")
@pytest.mark.django_db(transaction=True)
def test_a_detail_cannot_be_inserted_during_its_redaction(another_session):
    """The insert waits for the deletion of the row, and would then succeed without the trigger."""
    write(detail={"reason": "for J. Doe, born 1961"})
    row = EntryDetail.objects.values_list("entry_id", "salt", "detail").get()
    with ledger():
        redact_entry(1, reason=REASON, **BY)
        # In the block, the lock is not held yet: the attack begins when the append has it.
        run_after_append(lambda: another_session.begin(INSERTIONS[0], row))
    assert "cannot be told" in another_session.error()
    assert not EntryDetail.objects.filter(entry=1).exists()


@postgresql_only
@pytest.mark.requirement("R38")
@pytest.mark.django_db(transaction=True)
def test_a_session_with_an_old_snapshot_cannot_insert_a_detail(another_session):
    """Its snapshot is older than the redaction, so the trigger cannot see the entry about it."""
    write(detail={"reason": "for J. Doe, born 1961"})
    row = EntryDetail.objects.values_list("entry_id", "salt", "detail").get()
    another_session.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM audit_entry")
    redact_entry(1, reason=REASON, **BY)
    another_session.begin(INSERTIONS[0], row)
    assert "cannot be told" in another_session.error()


@pytest.mark.parametrize(
    ("event", "subject"), [("ledger.detail_redacted", "entry:11"), ("ledger.looked_at", "entry:1")]
)
def test_another_entry_does_not_permit_the_deletion_of_a_detail(entry, event, subject):
    write(0, event=event, subject=subject)
    with pytest.raises(IntegrityError), transaction.atomic():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 1")


@pytest.mark.django_db(transaction=True)
def test_the_entry_and_the_deletion_are_saved_together_or_not_at_all():
    def redact_and_fail():
        with ledger():
            redact_entry(1, reason=REASON, **BY)
            raise RuntimeError("a simulated failure")

    write(detail={"name": "J. Doe"})
    with pytest.raises(RuntimeError, match="a simulated failure"):
        redact_and_fail()
    assert (EntryDetail.objects.count(), count_valid_entries()) == (1, 1)


def test_other_entries_of_the_same_block_are_saved_too(entry):
    with ledger():
        redact_entry(1, reason=REASON, **BY)
        record("document.archived", subject="document:2", n=0, by=Actor("system:worker"))
    assert [each.event for each in queries.find_entries(limit=2)] == [
        "document.archived",
        "ledger.detail_redacted",
    ]


def test_only_an_existing_detail_can_be_redacted_and_only_once(entry):
    write(1)
    redact_entry(1, reason=REASON, **BY)
    for seq, message in (
        (1, "entry 3 already redacted"),
        (2, "has no detail"),
        (99, "no entry 99"),
    ):
        with pytest.raises(RedactionError, match=message):
            redact_entry(seq, reason=REASON, **BY)
    assert count_valid_entries() == 3


@postgresql_only
@pytest.mark.requirement("R38")
def test_the_application_role_can_delete_a_detail_only_by_a_redaction(entry):
    check_deferred_constraints()
    sql("CREATE ROLE ledger_keeper")
    sql("GRANT SELECT, INSERT ON audit_entry, audit_entrydetail TO ledger_keeper")
    sql("SET LOCAL ROLE ledger_keeper")
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 1")
    with pytest.raises(IntegrityError, match="on record"), transaction.atomic():
        sql("SELECT audit_redact(1)")
    redact_entry(1, reason=REASON, **BY)
    assert list(EntryDetail.objects.values_list("pk", flat=True)) == [2]


@pytest.mark.requirement("R38")
def test_a_redaction_in_the_admin_requires_the_permission_and_a_reason(client, entry, officer):
    client.force_login(officer)
    assert "Nothing was changed" in redact_in_admin(client, entry, reason="typo")
    assert EntryDetail.objects.filter(entry=1).exists()
    assert "The details were redacted" in redact_in_admin(client, entry)
    redaction = queries.find_entries(limit=1)[0]
    assert (redaction.actor, redaction.role) == (officer.actor_name, "no role")
    names = ("reason", "authorised_by", "printed_name", "address")
    assert [redaction.detail[name] for name in names] == [
        REASON,
        officer.actor_name,
        "Ann Berg",
        "127.0.0.1",
    ]
    page = client.get(reverse("admin:audit_entry_change", args=[1])).content.decode()
    assert "Redacted on" in page
    assert "/admin/audit/entry/2/change/" in page


@pytest.mark.requirement("R38")
def test_the_admin_offers_no_redaction_without_the_permission(client, entry, officer):
    officer.user_permissions.set(Permission.objects.filter(codename="view_entry"))
    client.force_login(officer)
    redact_in_admin(client, entry)
    assert EntryDetail.objects.count() == 1
    page = client.get(reverse("admin:audit_entry_changelist")).content.decode()
    assert "redact_details" not in page


def test_either_all_selected_details_are_redacted_or_none(client, entry, officer):
    client.force_login(officer)
    write(1)
    assert "entry 2 has no detail" in redact_in_admin(client, *Entry.objects.all())
    assert EntryDetail.objects.filter(entry=1).exists()
    assert count_valid_entries() == 2


def test_the_command_records_the_responsible_person(entry, officer, capsys):
    options = {"by": "officer", "reason": REASON}
    call_command("redact", "1", dry_run=True, **options)
    assert "would be redacted: 1." in capsys.readouterr().out
    call_command("redact", "1", **options)
    redaction = queries.find_entries(limit=1)[0]
    assert (redaction.actor, redaction.detail["authorised_by"]) == (
        add_process("system:redact"),
        officer.actor_name,
    )
    assert not EntryDetail.objects.filter(entry=1).exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "nobody"}, "no active user"),
        ({"by": "reader"}, "permission audit.redact"),
        ({"reason": "  typo  "}, "at least 10"),
        ({"seq": "9"}, "no entry 9"),
    ],
)
def test_the_command_explains_a_refusal(entry, officer, changes, message):
    make_user("reader", is_staff=True)
    options = {"seq": "1", "by": "officer", "reason": REASON} | changes
    with pytest.raises(CommandError, match=message):
        call_command("redact", options.pop("seq"), **options)
    assert EntryDetail.objects.count() == 1
