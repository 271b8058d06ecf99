"""Who is told what by mail: once for each change, whatever the mail server does."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import timeline
from audit.outbox import ChannelUnavailable, OutboxMessage
from ingestion import notifications
from ingestion.core.states import DocumentState
from ingestion.documents import transitions
from ingestion.models import Mailbox, MailedPacket
from ingestion.operations import alarms
from ingestion.tasks import send_digests
from sites.models import Membership
from tests.commands import run
from tests.factories import make_site, make_user
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
def _on(settings, tmp_path):
    settings.SITE_URL, settings.DIGEST_MINUTES = "https://ledger.example.org", 30
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"


@pytest.fixture
def site():
    return make_site("0203")


@pytest.fixture
def mara(site):
    return make_user("mara", sites=(site,), printed_name="Mara Lindqvist", email="mara@site.org")


@pytest.fixture
def jo(site):
    """Another coordinator of the site."""
    return make_user("jo", sites=(site,), email="jo@site.org")


def later():
    """Let the time between two digests pass, so that waits and leases are over too."""
    Mailbox.objects.update(tried_at=timezone.now() - timedelta(hours=1))
    OutboxMessage.objects.update(due_at=timezone.now())
    OutboxMessage.objects.filter(state="claimed").update(lease_until=timezone.now())


def to(person):
    return [sent for sent in mail.outbox if sent.to == [person.email]]


def test_who_sent_a_packet_is_told_when_it_is_done(site, mara, jo):
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


def test_what_needs_the_site_is_told_to_all_who_coordinate_it(site, mara, jo):
    document = make_packet(site, mara, FILED, REJECTED).documents.get(state="REJECTED")
    assert notifications.send_due() == 2
    for person in (mara, jo):
        (sent,) = to(person)
        assert sent.subject.endswith("is checked. 1 document needs your attention")
        assert f"https://ledger.example.org/documents/{document.pk}/" in sent.body


def test_a_mail_names_no_file_and_nobody_on_a_document(site, mara):
    packet = make_packet(site, mara, REJECTED)
    packet.documents.update(filename="Helena Brandt born 1970.pdf")
    notifications.send_due()
    (sent,) = mail.outbox
    assert "Brandt" not in sent.body
    assert "the chair" not in sent.body


def test_nothing_is_told_twice(site, mara):
    make_packet(site, mara, REJECTED)
    assert [notifications.send_due(), notifications.send_due()] == [1, 0]
    later()
    assert notifications.send_due() == 0


def test_while_something_is_checked_nothing_is_told(site, mara):
    packet = make_packet(site, mara, FILED, None)
    assert notifications.send_due() == 0
    settle(packet, FILED)
    assert notifications.send_due() == 1


def test_what_changes_later_is_told_once_more(site, mara):
    packet = make_packet(site, mara, IN_REVIEW)
    notifications.send_due()
    later()
    with ledger():
        transitions.move_document(
            packet.documents.get(), DocumentState.RETURNED, by=Actor("user:9", "staff")
        )
    assert notifications.send_due() == 1
    assert mail.outbox[-1].subject.endswith("1 document needs your attention")
    later()
    assert notifications.send_due() == 0


def test_a_download_is_no_news(site, mara):
    document = make_packet(site, mara, FILED).documents.get()
    notifications.send_due()
    later()
    with ledger():
        document.record("document.downloaded", by=transitions.WORKER_ACTOR)
    assert notifications.send_due() == 0


def test_several_packets_are_one_mail(site, mara):
    for _ in range(3):
        make_packet(site, mara, FILED)
    assert notifications.send_due() == 1
    (sent,) = mail.outbox
    assert sent.subject == "3 packets are checked. Nothing needs your attention"


def test_so_soon_again_nobody_is_told(site, mara):
    make_packet(site, mara, FILED)
    notifications.send_due()
    make_packet(site, mara, FILED)
    assert notifications.send_due() == 0
    later()
    assert notifications.send_due() == 1


def test_what_was_settled_long_ago_is_no_news(site, mara):
    packet = make_packet(site, mara, FILED)
    packet.documents.update(settled_at=timezone.now() - timedelta(days=8))
    assert notifications.send_due() == 0


@pytest.mark.parametrize("columns", [{"email": ""}, {"is_active": False}, {"is_staff": True}])
def test_some_people_get_no_mail(site, mara, columns):
    make_packet(site, mara, REJECTED)
    type(mara).objects.filter(pk=mara.pk).update(**columns)
    assert notifications.send_due() == 0


@pytest.mark.requirement("R15")
def test_who_left_a_site_hears_nothing_of_it(site, mara):
    make_packet(site, mara, REJECTED)
    Membership.objects.filter(user=mara).delete()
    assert notifications.send_due() == 0


def test_who_switched_it_off_gets_none_and_the_switch_is_on_record(site, mara):
    notifications.switch(mara, on=False)
    make_packet(site, mara, REJECTED)
    assert notifications.send_due() == 0
    notifications.switch(mara, on=True)
    assert notifications.send_due() == 1
    events = [(entry.event, entry.actor) for entry in timeline(mara.mailbox.subject)]
    assert events[:2] == [
        ("mailbox.switched_off", mara.actor_name),
        ("mailbox.switched_on", mara.actor_name),
    ]


@pytest.mark.parametrize("name", ["SITE_URL", "EMAIL_HOST", "DIGEST_MINUTES"])
def test_without_a_server_or_an_address_of_ours_there_is_no_mail(site, mara, settings, name):
    setattr(settings, name, "" if name != "DIGEST_MINUTES" else 0)
    make_packet(site, mara, REJECTED)
    assert notifications.send_due() == 0
    assert not MailedPacket.objects.exists()


def test_that_somebody_was_told_is_on_record_without_their_address(site, mara):
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
    """A real one: what Django says to it is what it says to any."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    with running() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        yield server


def test_a_mail_goes_over_the_wire_whole(site, mara, server):
    packet = make_packet(site, mara, FILED)
    assert notifications.send_due() == 1
    (taken,) = server.taken
    assert taken["To"] == "mara@site.org"
    assert taken["Auto-Submitted"] == "auto-generated"
    assert packet.reference in taken.get_payload()


def test_a_server_that_is_busy_gets_it_later_and_once(site, mara, jo, server):
    make_packet(site, mara, REJECTED)
    server.is_busy = True
    with pytest.raises(ChannelUnavailable):
        notifications.send_due()
    assert not MailedPacket.objects.exists()
    server.is_busy = False
    later()
    assert notifications.send_due() == 2
    assert len(server.taken) == 2


def rings():
    return [alarm.text for alarm in alarms.find_alarms().alarms if alarm.key == "digests"]


def test_that_mail_does_not_get_out_is_an_alarm_until_it_does(site, mara, jo, server):
    make_packet(site, mara, REJECTED)
    server.is_busy = True
    with pytest.raises(ChannelUnavailable):
        notifications.send_due()
    (text,) = rings()
    assert "Mara Lindqvist, jo" in text
    server.is_busy = False
    server.refused.add("mara@site.org")
    later()
    notifications.send_due()
    (text,) = rings()
    assert "cannot be sent: Mara Lindqvist. SMTPRecipientsRefused" in text
    assert "@" not in text, "alarms go out to webhooks, and the server quotes the address"
    assert "no such mailbox" in text
    server.refused.clear()
    later()
    notifications.send_due()
    assert rings() == []


def test_an_address_that_was_cut_off_is_told_to_nobody_either(site, mara):
    quoted = "SMTPDataError: (550, b'5.1.1 <mara@site.org>: unknown, nor mara@si"
    Mailbox.objects.create(user=mara, error=quoted)
    (text,) = rings()
    assert text.endswith("(550, b'5.1.1 <(address removed)>: unknown, nor (address removed)")


def test_an_address_that_is_refused_keeps_nobody_else_waiting(site, mara, jo, server):
    make_packet(site, mara, REJECTED)
    server.refused.add("mara@site.org")
    assert notifications.send_due() == 1
    assert [taken["To"] for taken in server.taken] == ["jo@site.org"]
    server.refused.clear()
    assert notifications.send_due() == 0  # not so soon again
    later()
    assert notifications.send_due() == 1
    assert server.taken[-1]["To"] == "mara@site.org"


def test_a_server_that_is_not_there_loses_nothing(site, mara, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    make_packet(site, mara, FILED)
    with pytest.raises(ChannelUnavailable, match="refused"):
        notifications.send_due()
    assert not MailedPacket.objects.exists()


def test_what_was_on_its_way_when_we_died_is_not_sent_again(site, mara, monkeypatch):
    document = make_packet(site, mara, REJECTED).documents.get()

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    monkeypatch.setattr(notifications.EmailMessage, "send", die)
    with pytest.raises(Killed):
        notifications.send_due()
    monkeypatch.undo()
    later()
    assert notifications.send_due() == 0
    # With the next news, what needs them is told all the same.
    make_packet(site, mara, FILED, kinds=["form-fda-1572"])
    assert notifications.send_due() == 1
    assert f"/documents/{document.pk}/" in mail.outbox[-1].body


@pytest.mark.django_db(transaction=True)
def test_the_scheduled_job_sends(site, mara):
    make_packet(site, mara, FILED)
    send_digests()
    assert len(mail.outbox) == 1
    assert run("verify_audit", "--full")[0] == 3


def test_the_switch_is_on_the_persons_own_page(client, mara):
    client.force_login(mara)
    assert "Email notifications are on" in client.get("/account/mail/").content.decode()
    client.post("/account/mail/", {"wanted": "off"})
    assert "Email notifications are off" in client.get("/account/mail/").content.decode()
    assert not notifications.wanted_by(mara)
    client.post("/account/mail/", {"wanted": "on"})
    assert notifications.wanted_by(mara)
