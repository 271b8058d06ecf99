"""Tests of alerts: messages when an alarm begins, while it lasts and when it is over."""

import hashlib
import hmac
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from audit import outbox
from audit.outbox import OutboxMessage
from ingestion.models import AlarmMessage, AlarmRow, WorkerHost
from ingestion.operations import alarms, alerts
from ingestion.operations.periodic_check import PeriodicCheck
from tests.factories import make_site
from tests.ingestion.hosts import eventually, worker_host
from tests.ingestion.mailserver import running
from tests.ingestion.receivers import mail_server, webhook
from tests.web.operations.conftest import hold

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.ANCHOR_DIR = tmp_path / "anchors"


@pytest.fixture
def webhook_receiver(settings):
    with webhook() as received:
        settings.ALERT_WEBHOOK = f"http://127.0.0.1:{received.port}/alarms"
        yield received


@pytest.fixture
def mail(settings):
    with mail_server() as received:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", received.port
        settings.ALERT_EMAILS = ["ops@example.org"]
        yield received


def make_host():
    return WorkerHost.objects.create(name="h", host="h", workers=1, software="1")


def update_and_deliver(hours=0.0):
    alerts.update_alerts(NOW + timedelta(hours=hours))
    return alerts.send_due_alerts()


def test_an_alert_is_sent_once_when_an_alarm_begins_and_once_when_it_is_over(webhook_receiver):
    for _ in range(3):
        assert update_and_deliver() == []
    assert webhook_receiver.events == [("workers", "begun")]
    assert "manage.py workers" in webhook_receiver.messages[0]["what_to_do"]
    make_host()
    for _ in range(3):
        update_and_deliver()
    assert webhook_receiver.events == [("workers", "begun"), ("workers", "over")]


def test_an_alert_is_repeated_at_the_interval_of_the_setting(webhook_receiver, settings):
    settings.ALERT_AGAIN_HOURS = 4
    for hours in (0, 3.9, 4.1, 8, 8.2):
        update_and_deliver(hours)
    assert [event for _, event in webhook_receiver.events] == ["begun", "lasts", "lasts"]


def test_an_alarm_that_returns_begins_again(webhook_receiver):
    update_and_deliver()
    running_host = make_host()
    update_and_deliver(1)
    running_host.delete()
    update_and_deliver(2)
    assert [event for _, event in webhook_receiver.events] == ["begun", "over", "begun"]
    assert AlarmRow.objects.get().began_at == NOW + timedelta(hours=2)


def test_a_crash_before_sending_loses_no_alert(webhook_receiver):
    alerts.update_alerts(NOW)
    assert webhook_receiver.events == []
    alerts.send_due_alerts()  # by another process
    assert webhook_receiver.events == [("workers", "begun")]


def test_an_alert_is_sent_again_after_a_crash_while_sending(webhook_receiver, monkeypatch):
    def killed(address, content):
        raise KeyboardInterrupt

    alerts.update_alerts(NOW)
    with monkeypatch.context() as patched:
        patched.setattr(alerts, "call_webhook", killed)
        with pytest.raises(KeyboardInterrupt):
            alerts.send_due_alerts()
    assert alerts.send_due_alerts(is_requested=True) == []
    assert webhook_receiver.events == [], (
        "its lease has not expired, so another process may be sending it"
    )
    OutboxMessage.objects.update(lease_until=timezone.now())
    alerts.send_due_alerts()
    assert webhook_receiver.events == [("workers", "begun")]


def test_an_alert_is_claimed_by_one_process(webhook_receiver):
    alerts.update_alerts(NOW)
    assert outbox.claim_next(["alert.webhook"])
    assert outbox.claim_next(["alert.webhook"]) is None


def test_a_refused_alert_is_sent_again_with_the_same_id(webhook_receiver):
    webhook_receiver.status = 500
    assert update_and_deliver() == ["The webhook answered with status 500."]
    assert alerts.send_due_alerts() == [], "the next attempt is not due yet"
    webhook_receiver.status = 204
    assert alerts.send_due_alerts(is_requested=True) == []
    assert webhook_receiver.events == [("workers", "begun")] * 2
    assert webhook_receiver.messages[0]["id"] == webhook_receiver.messages[1]["id"]


def test_a_failing_channel_is_an_alarm_on_the_other_channel(webhook_receiver, mail, settings):
    webhook_receiver.status = 503
    alerts.update_alerts(NOW)
    for _ in range(alarms.MIN_FAILED_ATTEMPTS):
        alerts.send_due_alerts(is_requested=True)
    alerts.update_alerts(NOW)
    alerts.send_due_alerts()
    assert any(b"Alarms cannot be sent by webhook" in email for email in mail.bodies)
    webhook_receiver.status = 204
    alerts.send_due_alerts(is_requested=True)
    assert "telling:webhook" not in alarms.find_alarms().keys


def test_the_webhook_does_not_receive_addresses_of_email(webhook_receiver, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.ALERT_EMAILS = ["ops@example.org"]
    with running() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        server.refused.add("ops@example.org")
        alerts.update_alerts(NOW)
        for _ in range(alarms.MIN_FAILED_ATTEMPTS):
            alerts.send_due_alerts(is_requested=True)
        update_and_deliver()
    (sentence,) = (
        message["message"]
        for message in webhook_receiver.messages
        if message["alarm"] == "telling:mail"
    )
    assert "SMTPRecipientsRefused" in sentence
    assert "@" not in sentence


def test_an_alert_is_given_up_after_a_day(webhook_receiver):
    webhook_receiver.status = 500
    alerts.update_alerts(NOW)
    message = OutboxMessage.objects.get()
    assert message.expires_at - message.created_at == timedelta(days=1)
    OutboxMessage.objects.update(expires_at=NOW - timedelta(hours=1))
    alerts.send_due_alerts()
    assert OutboxMessage.objects.get().state == "dead"
    assert alerts.send_due_alerts(is_requested=True) == []


def test_a_webhook_request_is_signed_with_the_secret(webhook_receiver, settings, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a secret\n")
    settings.ALERT_WEBHOOK_SECRET_FILE = str(secret)
    update_and_deliver()
    [body], [headers] = webhook_receiver.bodies, webhook_receiver.headers
    signed = headers["X-SiteLedger-Timestamp"].encode() + b"." + body
    digest = hmac.new(b"a secret", signed, hashlib.sha256).hexdigest()
    assert headers["X-SiteLedger-Signature"] == f"sha256={digest}"


def test_no_unsigned_request_is_sent_if_the_secret_cannot_be_read(
    webhook_receiver, settings, tmp_path
):
    settings.ALERT_WEBHOOK_SECRET_FILE = str(tmp_path / "missing")
    [error] = update_and_deliver()
    assert "secret cannot be read" in error
    assert webhook_receiver.bodies == []


def test_an_email_says_what_happened_and_what_to_do(mail):
    update_and_deliver()
    [email] = mail.bodies
    text = email.decode().replace("=\r\n", "")
    assert "Subject: SiteLedger: No worker heartbeat" in text
    assert "What to do: Start a worker host: `manage.py workers`." in text
    assert "To: ops@example.org" in text
    make_host()
    update_and_deliver()
    assert b"Subject: SiteLedger: Resolved: No worker heartbeat" in mail.bodies[1]


def test_an_unreachable_mail_server_is_reported_and_raises_nothing(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    settings.ALERT_EMAILS = ["ops@example.org"]
    [error] = update_and_deliver()
    assert error.startswith("The mail server did not accept the message: ConnectionRefusedError")


def test_no_alert_is_stored_without_a_channel():
    alerts.update_alerts(NOW)
    assert AlarmRow.objects.filter(key="workers", over_at=None).exists()
    assert not AlarmMessage.objects.exists()


def test_old_alerts_are_pruned(webhook_receiver):
    update_and_deliver()
    assert alerts.prune_messages(NOW - timedelta(days=1)) == 0
    assert alerts.prune_messages(timezone.now() + timedelta(seconds=1)) == 1
    assert AlarmRow.objects.exists()


def test_the_command_prints_active_alarms_and_fails_if_an_alert_is_not_sent(
    webhook_receiver, capsys
):
    call_command("alerts", dry_run=True)
    assert "workers: No worker heartbeat" in capsys.readouterr().out
    assert webhook_receiver.bodies == []
    webhook_receiver.status = 500
    with pytest.raises(CommandError, match="answered with status 500"):
        call_command("alerts")
    webhook_receiver.status = 204
    make_host()
    call_command("alerts")
    assert "No alarm is active." in capsys.readouterr().out
    assert webhook_receiver.events[-1] == ("workers", "over")


@pytest.mark.django_db(transaction=True)
def test_alarms_are_checked_once_a_minute_in_a_thread_of_their_own(webhook_receiver):
    seconds = [0.0]
    monitor = PeriodicCheck(
        "alerts", alerts.check_and_send, interval_seconds=60.0, clock=lambda: seconds[0]
    )
    for seconds[0] in (0.0, 59.0):
        monitor.run_if_due()
        monitor._thread.join()
    assert webhook_receiver.events == [("workers", "begun")]
    make_host()
    seconds[0] = 60.0
    monitor.run_if_due()
    monitor._thread.join()
    assert webhook_receiver.events[-1] == ("workers", "over")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_host_sends_alerts_when_it_starts(webhook_receiver, settings):
    hold(make_site())
    with worker_host(settings, ALERT_WEBHOOK=settings.ALERT_WEBHOOK):
        eventually(lambda: ("held", "begun") in webhook_receiver.events)
    assert webhook_receiver.messages[-1]["message"].startswith("1 document is held.")
