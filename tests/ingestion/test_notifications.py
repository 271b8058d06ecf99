"""Tests of email notifications: their recipients, and one email for each change."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from audit.outbox import ChannelUnavailable, OutboxMessage
from ingestion import notifications
from ingestion.core.states import DocumentState
from ingestion.documents import transitions
from ingestion.models import Mailbox, MailedPacket
from ingestion.operations import alarms
from ingestion.tasks import send_digests
from sites.models import Membership
from tests.commands import run
from tests.factories import make_user
from tests.ingestion.mailserver import running
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    settle,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _enabled_notifications(settings, tmp_path):
    settings.SITE_URL, settings.DIGEST_MINUTES = "https://ledger.example.org", 30
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"


@pytest.fixture
def mara(site):
    return make_user("mara", sites=(site,), printed_name="Mara Lindqvist", email="mara@site.org")


@pytest.fixture
def jo(site):
    """Return another coordinator of the site."""
    return make_user("jo", sites=(site,), email="jo@site.org")


def let_interval_pass():
    """Let the time between two emails pass, so that waits and leases are over too."""
    Mailbox.objects.update(tried_at=timezone.now() - timedelta(hours=1))
    OutboxMessage.objects.update(due_at=timezone.now())
    OutboxMessage.objects.filter(state="claimed").update(lease_until=timezone.now())


def emails_to(person):
    return [sent for sent in mail.outbox if sent.to == [person.email]]


def test_the_sender_of_a_packet_is_notified_when_it_is_checked(site, mara, jo):
    packet = make_packet(site, mara, FILED, FILED)
    assert notifications.send_due() == 1
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (
        ["mara@site.org"],
        f"{packet.reference} is checked. Nothing needs your attention",
    )
    assert "Dear Mara Lindqvist,\n" in sent.body
    assert "2 documents: 2 filed." in sent.body
    assert f"https://ledger.example.org/packets/{packet.reference}/\n" in sent.body
    assert "https://ledger.example.org/account/mail/\n" in sent.body


def test_all_coordinators_are_notified_of_a_document_that_needs_the_site(site, mara, jo):
    document = make_packet(site, mara, FILED, REJECTED).documents.get(state="REJECTED")
    assert notifications.send_due() == 2
    for person in (mara, jo):
        (sent,) = emails_to(person)
        assert sent.subject.endswith("is checked. 1 document needs your attention")
        assert f"https://ledger.example.org/documents/{document.pk}/" in sent.body


def test_an_email_contains_no_file_name_and_no_person_of_a_document(site, mara):
    packet = make_packet(site, mara, REJECTED)
    packet.documents.update(filename="Helena Brandt born 1970.pdf")
    notifications.send_due()
    (sent,) = mail.outbox
    assert "Brandt" not in sent.body
    assert "the chair" not in sent.body


def test_a_change_is_notified_once(site, mara):
    make_packet(site, mara, REJECTED)
    assert [notifications.send_due(), notifications.send_due()] == [1, 0]
    let_interval_pass()
    assert notifications.send_due() == 0


def test_no_email_is_sent_before_all_documents_of_a_packet_are_checked(site, mara):
    packet = make_packet(site, mara, FILED, None)
    assert notifications.send_due() == 0
    settle(packet, FILED)
    assert notifications.send_due() == 1


def test_a_later_change_causes_another_email(site, mara):
    packet = make_packet(site, mara, IN_REVIEW)
    notifications.send_due()
    let_interval_pass()
    with ledger():
        transitions.move_document(
            packet.documents.get(), DocumentState.RETURNED, by=Actor("user:9", "staff")
        )
    assert notifications.send_due() == 1
    assert mail.outbox[-1].subject.endswith("1 document needs your attention")
    let_interval_pass()
    assert notifications.send_due() == 0


def test_a_download_causes_no_email(site, mara):
    document = make_packet(site, mara, FILED).documents.get()
    notifications.send_due()
    let_interval_pass()
    with ledger():
        document.record("document.downloaded", by=transitions.WORKER_ACTOR)
    assert notifications.send_due() == 0


def test_several_packets_are_in_one_email(site, mara):
    for _ in range(3):
        make_packet(site, mara, FILED)
    assert notifications.send_due() == 1
    (sent,) = mail.outbox
    assert sent.subject == "3 packets are checked. Nothing needs your attention"


def test_a_second_email_is_sent_only_after_the_interval(site, mara):
    make_packet(site, mara, FILED)
    notifications.send_due()
    make_packet(site, mara, FILED)
    assert notifications.send_due() == 0
    let_interval_pass()
    assert notifications.send_due() == 1


def test_documents_settled_long_ago_cause_no_email(site, mara):
    packet = make_packet(site, mara, FILED)
    packet.documents.update(settled_at=timezone.now() - timedelta(days=8))
    assert notifications.send_due() == 0


@pytest.mark.parametrize("columns", [{"email": ""}, {"is_active": False}, {"is_staff": True}])
def test_inactive_accounts_staff_and_people_without_an_address_get_no_email(site, mara, columns):
    make_packet(site, mara, REJECTED)
    type(mara).objects.filter(pk=mara.pk).update(**columns)
    assert notifications.send_due() == 0


@pytest.mark.requirement("R15")
def test_a_former_member_of_a_site_gets_no_email_about_it(site, mara):
    make_packet(site, mara, REJECTED)
    Membership.objects.filter(user=mara).delete()
    assert notifications.send_due() == 0


def test_notifications_can_be_switched_off_and_the_switch_is_recorded(site, mara):
    notifications.switch(mara, on=False)
    make_packet(site, mara, REJECTED)
    assert notifications.send_due() == 0
    notifications.switch(mara, on=True)
    assert notifications.send_due() == 1
    events = [(entry.event, entry.actor) for entry in list_entries(mara.mailbox.subject)]
    assert events[:2] == [
        ("mailbox.switched_off", mara.actor_name),
        ("mailbox.switched_on", mara.actor_name),
    ]


@pytest.mark.parametrize("name", ["SITE_URL", "EMAIL_HOST", "DIGEST_MINUTES"])
def test_no_email_is_sent_if_a_required_setting_is_empty(site, mara, settings, name):
    setattr(settings, name, "" if name != "DIGEST_MINUTES" else 0)
    make_packet(site, mara, REJECTED)
    assert notifications.send_due() == 0
    assert not MailedPacket.objects.exists()


def test_a_notification_is_recorded_without_the_address(site, mara):
    packet = make_packet(site, mara, FILED)
    notifications.send_due()
    entry = latest()[0]
    assert (entry.event, entry.actor.split("@")[0]) == ("mailbox.told", "system:mailing")
    assert entry.detail["packets"] == [packet.reference]
    assert "site.org" not in str(entry)


def test_the_number_of_queries_does_not_grow_with_the_packets(
    site, mara, django_assert_max_num_queries
):
    for _ in range(6):
        make_packet(site, mara, FILED, REJECTED)
    with django_assert_max_num_queries(6):
        notifications._find_news()


@pytest.fixture
def server(settings):
    """Run an SMTP server, to which Django sends email as to any other."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    with running() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        yield server


def test_a_mail_server_receives_the_complete_email(site, mara, server):
    packet = make_packet(site, mara, FILED)
    assert notifications.send_due() == 1
    (message,) = server.messages
    assert message["To"] == "mara@site.org"
    assert message["Auto-Submitted"] == "auto-generated"
    assert packet.reference in message.get_payload()


def test_a_busy_mail_server_receives_each_email_once_later(site, mara, jo, server):
    make_packet(site, mara, REJECTED)
    server.is_busy = True
    with pytest.raises(ChannelUnavailable):
        notifications.send_due()
    assert not MailedPacket.objects.exists()
    server.is_busy = False
    let_interval_pass()
    assert notifications.send_due() == 2
    assert len(server.messages) == 2


def alarm_texts():
    return [alarm.text for alarm in alarms.find_alarms().alarms if alarm.key == "digests"]


def test_email_that_cannot_be_sent_raises_an_alarm_until_it_is_sent(site, mara, jo, server):
    make_packet(site, mara, REJECTED)
    server.is_busy = True
    with pytest.raises(ChannelUnavailable):
        notifications.send_due()
    (text,) = alarm_texts()
    assert "Mara Lindqvist, jo" in text
    server.is_busy = False
    server.refused.add("mara@site.org")
    let_interval_pass()
    notifications.send_due()
    (text,) = alarm_texts()
    assert "cannot be sent: Mara Lindqvist. SMTPRecipientsRefused" in text
    assert "@" not in text, "alarms are sent to webhooks, and the server quotes the address"
    assert "no such mailbox" in text
    server.refused.clear()
    let_interval_pass()
    notifications.send_due()
    assert alarm_texts() == []


def test_a_truncated_address_is_removed_from_the_alarm_too(site, mara):
    quoted = "SMTPDataError: (550, b'5.1.1 <mara@site.org>: unknown, nor mara@si"
    Mailbox.objects.create(user=mara, error=quoted)
    (text,) = alarm_texts()
    assert text.endswith("(550, b'5.1.1 <(address removed)>: unknown, nor (address removed)")


def test_a_refused_address_does_not_delay_other_recipients(site, mara, jo, server):
    make_packet(site, mara, REJECTED)
    server.refused.add("mara@site.org")
    assert notifications.send_due() == 1
    assert [message["To"] for message in server.messages] == ["jo@site.org"]
    server.refused.clear()
    assert notifications.send_due() == 0  # the interval is not over
    let_interval_pass()
    assert notifications.send_due() == 1
    assert server.messages[-1]["To"] == "mara@site.org"


def test_email_for_an_unavailable_server_stays_due(site, mara, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    make_packet(site, mara, FILED)
    with pytest.raises(ChannelUnavailable, match="refused"):
        notifications.send_due()
    assert not MailedPacket.objects.exists()


def test_an_email_whose_sender_process_was_killed_is_not_sent_again(site, mara, monkeypatch):
    document = make_packet(site, mara, REJECTED).documents.get()

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    monkeypatch.setattr(notifications.EmailMessage, "send", die)
    with pytest.raises(Killed):
        notifications.send_due()
    monkeypatch.undo()
    let_interval_pass()
    assert notifications.send_due() == 0
    # The next email mentions the document that needs their attention nevertheless.
    make_packet(site, mara, FILED, kinds=["form-fda-1572"])
    assert notifications.send_due() == 1
    assert f"/documents/{document.pk}/" in mail.outbox[-1].body


@pytest.mark.django_db(transaction=True)
def test_the_scheduled_job_sends_due_email(site, mara):
    make_packet(site, mara, FILED)
    send_digests()
    assert len(mail.outbox) == 1
    assert run("verify_audit", "--full")[0] == 3


def test_notifications_are_switched_on_the_account_page(client, mara):
    client.force_login(mara)
    assert "Email notifications are on" in client.get("/account/mail/").content.decode()
    client.post("/account/mail/", {"wanted": "off"})
    assert "Email notifications are off" in client.get("/account/mail/").content.decode()
    assert not notifications.is_wanted_by(mara)
    client.post("/account/mail/", {"wanted": "on"})
    assert notifications.is_wanted_by(mara)
