"""Tests of the upgrade to the outbox: what the release before left waiting is delivered."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import override_settings
from django.utils import timezone

from audit import background_jobs, job_runs
from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from audit.models import AuditJob, OutboxMessage
from audit.signing import anchors, checkpoints, key_rotation
from ingestion.models import AlarmMessage
from ingestion.operations import alerts
from ingestion.storage import object_locks
from sites import account_notices
from tests.audit.support import write
from tests.config.upgrades import CANNOT_MIGRATE_BACK
from tests.factories import make_user
from tests.ingestion.receivers import webhook

BEFORE = [
    ("audit", "0010_pre_plain_labels"),
    ("clinical_sites", "0014_post_plain_labels"),
    ("ingestion", "0025_post_plain_labels"),
]
SIDE_BY_SIDE = [("audit", "0017_pre_parameters_of_jobs"), *BEFORE[1:]]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.only_on("postgresql", reason=CANNOT_MIGRATE_BACK),
]
NOW = timezone.now()


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps


def latest():
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    return [leaf for leaf in leaves if leaf[0] in dict(BEFORE)]


@pytest.fixture
def old():
    """Bring the database to the release before. Returns its models; the test upgrades."""
    yield migrate(BEFORE)
    migrate(latest())


def job(old, number, state, by="system:worker", **columns):
    return old.get_model("audit", "AuditJob").objects.create(
        kind="count", arguments={"number": number}, asked_by=by, state=state, **columns
    )


@pytest.fixture(autouse=True)
def _count(monkeypatch):
    monkeypatch.setattr(job_runs, "_kinds", {})
    job_runs.register_kind("count", lambda job: {"counted": job.arguments["number"]})


def leave_jobs(old):
    waiting = job(old, 1, "waiting", due_at=NOW + timedelta(seconds=30))
    same = job(old, 1, "waiting", due_at=NOW)
    running = job(old, 2, "running", by="user:7", attempts=1, worker="h:1", seen_at=NOW)
    done = job(old, 3, "done", finished_at=NOW)

    def check():
        messages = OutboxMessage.objects.filter(kind="job.count")
        by_job = {message.payload["job"]: message for message in messages}
        assert by_job[running.pk].attempts == 1, "a worker that dies counts with those before"
        assert background_jobs.schedule_job("count", {"number": 1}).pk in {waiting.pk, same.pk}
        messages.update(due_at=NOW)
        while job_runs.run_next_job():
            pass
        results = dict(AuditJob.objects.values_list("pk", "result"))
        counted = {waiting.pk: 1, same.pk: 1, running.pk: 2}
        expected = {pk: {"counted": number} for pk, number in counted.items()}
        assert results == expected | {done.pk: {}}
        assert AuditJob.objects.get(pk=running.pk).attempts == 2

    return check


def leave_alerts(old):
    alarm = old.get_model("ingestion", "AlarmRow").objects.create(
        key="held", said="1 document is held.", began_at=NOW, told_at=NOW, over_at=NOW
    )
    texts = {"alarm": alarm, "word": "begun", "said": "1 document is held.", "do": "Retry it."}
    sent, failed, mailed, given_up = (
        old.get_model("ingestion", "AlarmMessage").objects.create(**texts, **columns)
        for columns in (
            {"channel": "webhook", "sent_at": NOW},
            {"channel": "webhook", "tries": 3, "error": "Status 500.", "next_try_at": NOW},
            {"channel": "mail"},
            {"channel": "webhook", "tries": 9, "error": "Status 500.", "given_up_at": NOW},
        )
    )

    def check():
        messages = OutboxMessage.objects.filter(kind__startswith="alert.").order_by("pk")
        assert list(messages.values_list("kind", "state", "attempts")) == [
            ("alert.webhook", "waiting", 3),
            ("alert.mail", "waiting", 0),
            ("alert.webhook", "dead", 9),
        ]
        with (
            webhook() as received,
            override_settings(
                ALERT_WEBHOOK=f"http://127.0.0.1:{received.port}/alarms",
                ALERT_EMAILS=["ops@example.org"],
            ),
        ):
            assert alerts.send_due_alerts() == []
        assert [message["id"] for message in received.messages] == [failed.pk]
        assert [letter.to for letter in mail.outbox] == [["ops@example.org"]]
        rows = AlarmMessage.objects.values_list("pk", "sent_at")
        assert {pk: sent_at is None for pk, sent_at in rows} == {
            sent.pk: False,
            failed.pk: False,
            mailed.pk: False,
            given_up.pk: True,
        }

    return check


def leave_notices(old):
    mara = make_user("mara", email="mara@example.org")
    texts = {"user_id": mara.pk, "address": "mara@example.org", "about": "Your account"}
    for text, columns in (
        ("unsent", {"tries": 2, "error": "SMTPException: busy"}),
        ("sent", {"sent_at": NOW}),
        ("outdated", {"created_at": NOW - timedelta(days=4)}),
    ):
        notices = old.get_model("clinical_sites", "AccountNotice").objects
        notices.create(**texts, text=text, **columns)

    def check():
        assert account_notices.send_due_notices() == 1
        assert "unsent" in mail.outbox[-1].body
        assert list_entries(mara.actor_name)[-1].event == "user.notified"

    return check


def leave_an_anchor(old):
    """Leave the backoff of an anchor that could not be reached."""
    old.get_model("audit", "AnchorOutage").objects.create(
        anchor="file",
        since=NOW,
        tries=4,
        next_try_at=NOW + timedelta(hours=1),
        error="The disk is full.",
    )

    def check():
        key_rotation.create_key(by=Actor("system:test"))
        write()
        checkpoints.sign_all()
        (lacking,) = anchors.list_unanchored()
        assert (lacking.attempts, lacking.error) == (4, "The disk is full.")
        assert not anchors.is_anchoring_due()
        OutboxMessage.objects.filter(kind="anchor").update(due_at=NOW)
        assert anchors.anchor_due() == []
        assert anchors.list_unanchored() == []

    return check


def leave_lock_changes(old):
    """Leave changes of object locks: of one, the bucket has refused the last attempt."""
    study = old.get_model("clinical_sites", "Study").objects.create(protocol_number="SLX-301")
    changes = old.get_model("ingestion", "LockChange").objects
    changes.create(study_id=study.pk, changed_at=NOW, error="AccessDenied")
    changes.create(study_id=study.pk, changed_at=NOW)

    def check():
        messages = OutboxMessage.objects.filter(kind=object_locks.KIND.name).order_by("pk")
        columns = messages.values_list("payload", "state", "error", "created_at")
        payload = {"study": study.pk}
        assert list(columns) == [
            (payload, "waiting", "AccessDenied", NOW),
            (payload, "waiting", "", NOW),
        ]
        assert object_locks.update_locks([study.pk]).refused == 0, "the archive is a folder"
        assert not messages.exists()

    return check


def test_what_the_release_before_left_waiting_is_delivered(old, settings, tmp_path):
    settings.SITE_URL = "https://ledger.example.org"
    settings.AUDIT_KEY_FILE, settings.ANCHOR_DIR = tmp_path / "audit.pem", tmp_path / "anchors"
    kinds = (leave_jobs, leave_alerts, leave_notices, leave_an_anchor, leave_lock_changes)
    checks = [leave(old) for leave in kinds]
    migrate(latest())
    for check in checks:
        check()
    assert list(OutboxMessage.objects.values_list("state", flat=True)) == ["dead"]


def test_new_code_works_beside_the_old_before_the_upgrade_ends(old, settings):
    migrate(SIDE_BY_SIDE)
    settings.ALERT_EMAILS = ["ops@example.org"]
    new = background_jobs.request_job("count", {"number": 1}, Actor("user:7"))
    alerts.update_alerts()
    messages = set(OutboxMessage.objects.values_list("kind", "pk"))
    assert {kind for kind, _ in messages} == {"job.count", "alert.mail"}
    migrate(latest())
    assert set(OutboxMessage.objects.values_list("kind", "pk")) == messages, "none is doubled"
    assert job_runs.run_next_job()
    new.refresh_from_db()
    assert new.state == "done"
