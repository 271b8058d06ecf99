"""Alarms are told when they begin, now and then while they last, and once when they are over."""

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
from tests.factories import make_site
from tests.ingestion.hosts import eventually, worker_host
from tests.ingestion.mailserver import running
from tests.ingestion.receivers import mail_server, webhook
from tests.web.operations.conftest import hold

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.ANCHOR_DIR = tmp_path / "anchors"


@pytest.fixture
def hook(settings):
    with webhook() as received:
        settings.ALERT_WEBHOOK = f"http://127.0.0.1:{received.port}/alarms"
        yield received


@pytest.fixture
def post(settings):
    with mail_server() as received:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", received.port
        settings.ALERT_EMAILS = ["ops@example.org"]
        yield received


def host():
    return WorkerHost.objects.create(name="h", host="h", workers=1, software="1")


def tell(hours=0.0):
    alerts.update_alerts(NOW + timedelta(hours=hours))
    return alerts.deliver_due()


def test_an_alarm_is_told_once_when_it_begins_and_once_when_it_is_over(hook):
    for _ in range(3):
        assert tell() == []
    assert hook.events == [("workers", "begun")]
    assert "manage.py workers" in hook.messages[0]["what_to_do"]
    host()
    for _ in range(3):
        tell()
    assert hook.events == [("workers", "begun"), ("workers", "over")]


def test_while_it_lasts_it_is_told_again_after_the_hours_of_the_setting(hook, settings):
    settings.ALERT_AGAIN_HOURS = 4
    for hours in (0, 3.9, 4.1, 8, 8.2):
        tell(hours)
    assert [event for _, event in hook.events] == ["begun", "lasts", "lasts"]


def test_an_alarm_that_comes_back_begins_anew(hook):
    tell()
    lives = host()
    tell(1)
    lives.delete()
    tell(2)
    assert [event for _, event in hook.events] == ["begun", "over", "begun"]
    assert AlarmRow.objects.get().began_at == NOW + timedelta(hours=2)


def test_whoever_dies_before_sending_loses_nothing(hook):
    alerts.update_alerts(NOW)
    assert hook.events == []
    alerts.deliver_due()  # by the next one
    assert hook.events == [("workers", "begun")]


def test_whoever_dies_while_sending_is_followed_by_another_after_a_while(hook, monkeypatch):
    def killed(message):
        raise KeyboardInterrupt

    alerts.update_alerts(NOW)
    with monkeypatch.context() as patched:
        patched.setattr(alerts, "_call_webhook", killed)
        with pytest.raises(KeyboardInterrupt):
            alerts.deliver_due()
    assert alerts.deliver_due(is_requested=True) == []
    assert hook.events == [], "its lease has not expired, so another process may be sending it"
    OutboxMessage.objects.update(lease_until=timezone.now())
    alerts.deliver_due()
    assert hook.events == [("workers", "begun")]


def test_a_message_is_claimed_by_one_of_many(hook):
    alerts.update_alerts(NOW)
    assert outbox.claim_next(["alert.webhook"])
    assert outbox.claim_next(["alert.webhook"]) is None


def test_a_receiver_that_refuses_is_asked_again_and_the_alarm_goes_on_ringing(hook):
    hook.status = 500
    assert tell() == ["The webhook answered with status 500."]
    assert alerts.deliver_due() == [], "not before it is time"
    hook.status = 204
    assert alerts.deliver_due(is_requested=True) == []
    assert hook.events == [("workers", "begun")] * 2
    assert hook.messages[0]["id"] == hook.messages[1]["id"]


def test_a_channel_that_does_not_work_is_an_alarm_on_the_other(hook, post, settings):
    hook.status = 503
    alerts.update_alerts(NOW)
    for _ in range(alarms.MIN_FAILED_ATTEMPTS):
        alerts.deliver_due(is_requested=True)
    alerts.update_alerts(NOW)
    alerts.deliver_due()
    assert any(b"Alarms cannot be sent by webhook" in letter for letter in post.bodies)
    hook.status = 204
    alerts.deliver_due(is_requested=True)
    assert "telling:webhook" not in alarms.find_alarms().keys


def test_whom_alarms_are_mailed_to_is_no_webhooks_business(hook, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.ALERT_EMAILS = ["ops@example.org"]
    with running() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        server.refused.add("ops@example.org")
        alerts.update_alerts(NOW)
        for _ in range(alarms.MIN_FAILED_ATTEMPTS):
            alerts.deliver_due(is_requested=True)
        tell()
    (sentence,) = (
        message["message"] for message in hook.messages if message["alarm"] == "telling:mail"
    )
    assert "SMTPRecipientsRefused" in sentence
    assert "@" not in sentence


def test_what_could_not_be_told_for_a_day_is_given_up(hook):
    hook.status = 500
    alerts.update_alerts(NOW)
    message = OutboxMessage.objects.get()
    assert message.expires_at - message.created_at == timedelta(days=1)
    OutboxMessage.objects.update(expires_at=NOW - timedelta(hours=1))
    alerts.deliver_due()
    assert OutboxMessage.objects.get().state == "dead"
    assert alerts.deliver_due(is_requested=True) == []


def test_the_webhook_knows_that_it_comes_from_us(hook, settings, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("between us\n")
    settings.ALERT_WEBHOOK_SECRET_FILE = str(secret)
    tell()
    [body], [headers] = hook.bodies, hook.headers
    signed = headers["X-SiteLedger-Timestamp"].encode() + b"." + body
    digest = hmac.new(b"between us", signed, hashlib.sha256).hexdigest()
    assert headers["X-SiteLedger-Signature"] == f"sha256={digest}"


def test_a_secret_that_cannot_be_read_sends_nothing_unsigned(hook, settings, tmp_path):
    settings.ALERT_WEBHOOK_SECRET_FILE = str(tmp_path / "gone")
    [error] = tell()
    assert "secret cannot be read" in error
    assert hook.bodies == []


def test_a_letter_says_what_happened_and_what_to_do(post):
    tell()
    [letter] = post.bodies
    text = letter.decode().replace("=\r\n", "")
    assert "Subject: SiteLedger: No worker heartbeat" in text
    assert "What to do: Start a worker host: `manage.py workers`." in text
    assert "To: ops@example.org" in text
    host()
    tell()
    assert b"Subject: SiteLedger: Resolved: No worker heartbeat" in post.bodies[1]


def test_a_mail_server_that_is_away_is_no_error_of_the_work(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    settings.ALERT_EMAILS = ["ops@example.org"]
    [error] = tell()
    assert error.startswith("The mail server did not accept the message: ConnectionRefusedError")


def test_without_a_channel_nothing_is_kept_for_later():
    alerts.update_alerts(NOW)
    assert AlarmRow.objects.filter(key="workers", over_at=None).exists()
    assert not AlarmMessage.objects.exists()


def test_messages_that_are_done_with_are_forgotten_in_the_end(hook):
    tell()
    assert alerts.prune_messages(NOW - timedelta(days=1)) == 0
    assert alerts.prune_messages(timezone.now() + timedelta(seconds=1)) == 1
    assert AlarmRow.objects.exists()


def test_the_command_tells_what_rings_and_fails_when_it_cannot(hook, capsys):
    call_command("alerts", dry_run=True)
    assert "workers: No worker heartbeat" in capsys.readouterr().out
    assert hook.bodies == []
    hook.status = 500
    with pytest.raises(CommandError, match="answered with status 500"):
        call_command("alerts")
    hook.status = 204
    host()
    call_command("alerts")
    assert "No alarm is active." in capsys.readouterr().out
    assert hook.events[-1] == ("workers", "over")


@pytest.mark.django_db(transaction=True)
def test_a_watchman_tells_beside_the_work_and_rests_for_a_minute(hook):
    at = [0.0]
    watchman = alerts.AlertMonitor(clock=lambda: at[0])
    for at[0] in (0.0, 59.0):
        watchman.check_if_due()
        watchman._thread.join()
    assert hook.events == [("workers", "begun")]
    host()
    at[0] = 60.0
    watchman.check_if_due()
    watchman._thread.join()
    assert hook.events[-1] == ("workers", "over")


@pytest.mark.django_db(transaction=True)
def test_a_real_host_tells_what_rings_when_it_starts(hook, settings):
    hold(make_site())
    with worker_host(settings, ALERT_WEBHOOK=settings.ALERT_WEBHOOK):
        eventually(lambda: ("held", "begun") in hook.events)
    assert hook.messages[-1]["message"].startswith("1 document is held.")
