"""Sends digests: emails to people of sites when a packet is done or needs their attention.

A digest only says that there is something on the pages, so each change is reported at most once.
`send_due` posts a message of the outbox for each person with news. Its handler stores what the
person was notified about before the email leaves, and undoes that if the mail server refuses it;
the next digest reports it then. If the process dies in between, nobody knows whether the email
left, and it is not sent again: the documents that need attention are in every later digest until
they are done, and on the person's start page.
"""

import logging
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException, SMTPRecipientsRefused

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Prefetch, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from audit import outbox
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.outbox import (
    ChannelUnavailable,
    Delivery,
    DeliveryFailed,
    DeliveryPolicy,
    MessageKind,
    NothingToDeliver,
    OutboxMessage,
)
from ingestion.core.states import STATES_NEEDING_SITE, UNSETTLED_STATES, DocumentState
from ingestion.models import Document, Mailbox, MailedPacket, Packet
from ingestion.rules.finding_texts import get_short_text
from sites.models import Membership, User

NEWS_PERIOD = timedelta(days=7)  # what was settled earlier is not reported
MAX_DOCUMENTS_PER_DIGEST = 20  # documents that need attention and are listed
MAX_ERROR_CHARACTERS = 200
SENDER = Actor.software("mailing", "worker")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PacketNews:
    """A packet whose current status a person was not notified about."""

    packet: Packet
    as_of: datetime  # the last `settled_at` of its documents
    notified_as_of: datetime | None  # the same when the person was last notified

    @property
    def outcome(self) -> str:
        """Return a sentence such as "4 documents: 3 filed, 1 rejected."."""
        rows = self.packet.documents.order_by().values_list("state")
        counts = {DocumentState(state): n for state, n in rows.annotate(n=Count("pk"))}
        parts = [
            f"{counts[state]} {state.word.lower()}" for state in DocumentState if state in counts
        ]
        total = sum(counts.values())
        return f"{total} document{'' if total == 1 else 's'}: {', '.join(parts)}."

    @property
    def address(self) -> str:
        """Return the URL of the packet's page."""
        return make_page_address("packet", self.packet.reference)


def is_on() -> bool:
    """Return whether this installation sends digests."""
    return bool(settings.SITE_URL and settings.EMAIL_HOST and settings.DIGEST_MINUTES)


def make_page_address(view: str, *arguments: object) -> str:
    """Return the complete URL of a page."""
    return f"{settings.SITE_URL.rstrip('/')}{reverse(view, args=arguments)}"


def is_wanted_by(person: User) -> bool:
    """Return whether the person has not turned digests off."""
    box = Mailbox.objects.filter(user=person).first()
    return box is None or box.is_wanted


def switch(person: User, *, on: bool) -> None:
    """Turn digests on or off for the person, and record it."""
    with ledger():
        box, _ = Mailbox.objects.get_or_create(user=person)
        if box.is_wanted != on:
            Mailbox.objects.filter(pk=box.pk).update(is_wanted=on)
            event = "mailbox.switched_on" if on else "mailbox.switched_off"
            box.record(event, by=person.actor)


def send_due() -> int:
    """Send the digests that are due. Returns how many were sent.

    A digest whose recipient the server refuses is retried later. Raises ChannelUnavailable if the
    mail server cannot be used: nothing is lost, and the remaining digests are retried too.
    """
    if not is_on():
        return 0
    just_tried = Mailbox.objects.filter(tried_at__gt=_end_of_pause())
    for person in sorted(_find_news().keys() - set(just_tried.values_list("user", flat=True))):
        outbox.post(KIND.name, {"user": person}, key=str(person))
    result = outbox.deliver_due(KIND.name)
    for failure in result.failures:
        if isinstance(failure, ChannelUnavailable):
            waiting = OutboxMessage.objects.filter(kind=KIND.name)
            _store_error([message.payload["user"] for message in waiting], str(failure))
            raise failure
    return result.delivered


def _deliver(delivery: Delivery) -> None:
    person = delivery.payload["user"]
    try:
        with get_connection() as server:
            box = _send(person, server)
    except SMTPRecipientsRefused as error:
        reason_refused = f"{type(error).__name__}: {error}"
        _store_error([person], reason_refused)
        raise DeliveryFailed(reason_refused) from error
    except (SMTPException, OSError) as error:
        raise ChannelUnavailable(f"{type(error).__name__}: {error}") from error
    # The server works, so other errors than a refused address are over.
    is_over = ~Q(error__startswith=SMTPRecipientsRefused.__name__) | Q(pk=box.pk)
    Mailbox.objects.filter(is_over).exclude(error="").update(error="")


KIND = MessageKind(
    "digest",
    _deliver,
    # The task that sends digests runs every 5 minutes.
    DeliveryPolicy(initial_wait=timedelta(minutes=4), max_wait=timedelta(minutes=30)),
    shares_claimed=True,
    is_delivered_each_minute=False,
)


def _send(person: int, server: BaseEmailBackend) -> Mailbox:
    """Send a person's digest and record it. Raises what the mail server's refusal raises.

    Raises NothingToDeliver if there is no news, or if the last digest was sent too recently.
    """
    now = timezone.now()
    with transaction.atomic():
        Mailbox.objects.get_or_create(user_id=person)
        # The lock keeps two processes from finding the same news.
        boxes = Mailbox.objects.select_for_update(of=("self",)).select_related("user")
        box = boxes.get(user=person)
        news = _find_news(person).get(person, [])
        if not news or (box.tried_at and box.tried_at > _end_of_pause()):
            raise NothingToDeliver
        for each in news:
            row = {"as_of": each.as_of, "told_at": now}
            MailedPacket.objects.update_or_create(mailbox=box, packet=each.packet, defaults=row)
        Mailbox.objects.filter(pk=box.pk).update(tried_at=now)
    # If the process dies from here on, the digest is not sent again.
    try:
        _build_email(box.user, news, server).send()
    except (SMTPException, OSError):
        with transaction.atomic():
            for each in news:
                rows = MailedPacket.objects.filter(mailbox=box, packet=each.packet)
                if each.notified_as_of:
                    rows.update(as_of=each.notified_as_of)
                else:
                    rows.delete()
        raise
    detail = {"packets": [each.packet.reference for each in news]}
    with ledger():
        box.record("mailbox.told", by=SENDER, detail=detail)
    return box


def _end_of_pause() -> datetime:
    """Return the time after which no second digest is sent."""
    return timezone.now() - timedelta(minutes=settings.DIGEST_MINUTES)


def _store_error(people: list[int], error: str) -> None:
    """Store for the alarm why digests were not sent, until one is."""
    boxes = [Mailbox(user_id=person) for person in people]
    Mailbox.objects.bulk_create(boxes, ignore_conflicts=True)
    rows = Mailbox.objects.filter(user__in=people)
    rows.update(error=error[:MAX_ERROR_CHARACTERS])


def _find_news(person: int | None = None) -> dict[int, list[PacketNews]]:
    """Return by person the settled packets that they were not notified about.

    The sender of a packet is notified about all its results, other members of the site only about
    documents that need the site. With `person`, only this person is considered.
    """
    packets = {packet.pk: packet for packet in _settled_packets()}
    documents = Document.objects.filter(
        packet__in=packets, state__in=STATES_NEEDING_SITE
    ).order_by()
    needing = dict(documents.values_list("packet").annotate(Max("settled_at")))
    notified = {
        (row.mailbox.user_id, row.packet_id): row.as_of
        for row in MailedPacket.objects.filter(packet__in=packets).select_related("mailbox")
    }
    found: defaultdict[int, list[PacketNews]] = defaultdict(list)
    for packet in packets.values():
        as_of: datetime = packet.last_settled  # type: ignore[attr-defined] # by `_settled_packets`
        for user in (membership.user_id for membership in packet.site.memberships.all()):
            if person not in {None, user}:
                continue
            newest = as_of if packet.batch.submitted_by_id == user else needing.get(packet.pk)
            before = notified.get((user, packet.pk))
            if newest and (before is None or newest > before):
                found[user].append(PacketNews(packet, as_of, before))
    return found


def _settled_packets() -> "QuerySet[Packet]":
    """Return packets without unsettled documents, of which one was settled recently.

    Their members are coordinators who have an address and want email. Staff are notified by other
    means.
    """
    unsettled = Document.objects.filter(packet=OuterRef("pk"), state__in=UNSETTLED_STATES)
    recent = Document.objects.filter(
        packet=OuterRef("pk"), settled_at__gt=timezone.now() - NEWS_PERIOD
    )
    packets = Packet.objects.filter(Exists(recent), ~Exists(unsettled))
    packets = packets.annotate(last_settled=Max("documents__settled_at")).order_by("pk")
    people = User.objects.filter(is_active=True, is_staff=False).exclude(email="")
    people = people.exclude(mailbox__is_wanted=False)
    memberships = Prefetch("site__memberships", Membership.objects.filter(user__in=people))
    return packets.select_related("site", "batch").prefetch_related(memberships)


def _build_email(person: User, news: list[PacketNews], server: BaseEmailBackend) -> EmailMessage:
    """Build a digest without file names, patients or values read, because email is not private."""
    needed = Document.objects.visible_to(person).needing_site().select_related("site")
    count = needed.count()
    context = {
        "person": person,
        "news": news,
        "needed": [
            (each, get_short_text(each.code), make_page_address("document", each.pk))
            for each in needed[:MAX_DOCUMENTS_PER_DIGEST]
        ],
        "count": count,
        "start": make_page_address("home"),
        "switch": make_page_address("account_mail"),
    }
    done = ngettext("{reference} is checked", "{n} packets are checked", len(news)).format(
        reference=news[0].packet.reference, n=len(news)
    )
    needing = gettext("Nothing needs your attention")
    if count:
        sentence = ngettext(
            "{n} document needs your attention", "{n} documents need your attention", count
        )
        needing = sentence.format(n=count)
    return EmailMessage(
        subject=f"{done}. {needing}",
        body=render_to_string("mail/digest.txt", context),
        to=[person.email],
        headers={"Auto-Submitted": "auto-generated"},  # RFC 3834: no out-of-office replies
        connection=server,
    )
