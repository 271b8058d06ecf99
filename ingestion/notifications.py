"""Mail to people of the sites: a digest for each person, when a packet is done or needs them.

The pages are the truth, and a mail only says that there is something to look at. So each change is
told at most once. What a person is told is put down before the mail leaves, and taken back when the
mail server refuses it; then it is told with the next digest. If we die in between, nobody knows
whether that mail left, and it is not sent again: what needs somebody stands in every later digest
until it is done, and on their start page.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException, SMTPRecipientsRefused
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Prefetch, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from audit.ledger.log import ledger, record
from ingestion.core.states import STATES_NEEDING_SITE, UNSETTLED_STATES, DocumentState
from ingestion.models import Document, Mailbox, MailedPacket, Packet
from ingestion.rules.finding_texts import reason
from sites.models import Membership, User

NEWS = timedelta(days=7)  # what was settled longer ago is no news
NEEDED = 20  # documents that a digest names
BY = ("system:mailing", "worker")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """A packet of which a person was not told that it stands so."""

    packet: Packet
    as_of: datetime  # the last `settled_at` of its documents
    told: datetime | None  # up to when they were told of it

    @property
    def outcome(self) -> str:
        """As in: 4 documents: 3 filed, 1 rejected."""
        rows = self.packet.documents.order_by().values_list("state")
        counts = {DocumentState(state): n for state, n in rows.annotate(n=Count("pk"))}
        said = [
            f"{counts[state]} {state.word.lower()}" for state in DocumentState if state in counts
        ]
        total = sum(counts.values())
        return f"{total} document{'' if total == 1 else 's'}: {', '.join(said)}."

    @property
    def address(self) -> str:
        return address("packet", self.packet.reference)


def is_on() -> bool:
    return bool(settings.SITE_URL and settings.EMAIL_HOST and settings.DIGEST_MINUTES)


def address(view: str, *where: object) -> str:
    return f"{settings.SITE_URL.rstrip('/')}{reverse(view, args=where)}"


def wanted_by(person: User) -> bool:
    box = Mailbox.objects.filter(user=person).first()
    return box is None or box.is_wanted


def switch(person: User, *, on: bool) -> None:
    """On record, as whatever somebody sets for themselves."""
    with ledger():
        box, _ = Mailbox.objects.get_or_create(user=person)
        if box.is_wanted != on:
            Mailbox.objects.filter(pk=box.pk).update(is_wanted=on)
            event = "mailbox.switched_on" if on else "mailbox.switched_off"
            _enter(box, event, actor=person.actor, role=person.role, detail={})


def send_due() -> int:
    """Send what is due. Answers how many were sent; those that the server refuses are due again.

    Raises SMTPException or OSError when there is no server to talk to: nothing is lost by it.
    """
    due = sorted(_news()) if is_on() else []
    if not due:
        return 0
    try:
        with get_connection() as server:
            return sum(_tell(pk, server) for pk in due)
    except (SMTPException, OSError) as error:
        _not_out(due, error)
        raise


def _not_out(people: list[int], error: Exception) -> None:
    """For the alarm, until one gets out."""
    boxes = [Mailbox(user_id=person) for person in people]
    Mailbox.objects.bulk_create(boxes, ignore_conflicts=True)
    Mailbox.objects.filter(user__in=people).update(error=f"{type(error).__name__}: {error}"[:200])


def _got_out(box: Mailbox) -> None:
    """So the server works, and what it refuses now are addresses."""
    worked = ~Q(error__startswith=SMTPRecipientsRefused.__name__) | Q(pk=box.pk)
    Mailbox.objects.filter(worked).exclude(error="").update(error="")


def _news(person: int | None = None) -> dict[int, list[News]]:
    """By person, what they were not told of: theirs to know, and all of it settled."""
    since = timezone.now() - NEWS
    packets = {packet.pk: packet for packet in _settled(since)}
    asked = Document.objects.filter(packet__in=packets, state__in=STATES_NEEDING_SITE).order_by()
    needing = dict(asked.values_list("packet").annotate(Max("settled_at")))
    told = {
        (row.mailbox.user_id, row.packet_id): row.as_of
        for row in MailedPacket.objects.filter(packet__in=packets).select_related("mailbox")
    }
    found: defaultdict[int, list[News]] = defaultdict(list)
    for packet in packets.values():
        as_of: datetime = packet.last_settled  # type: ignore[attr-defined] # by `_settled`
        for user in _members(packet, person):
            # Who sent it hears of all that becomes of it; the others of what the site has to do.
            is_theirs = packet.batch.submitted_by_id == user
            news = as_of if is_theirs else needing.get(packet.pk)
            before = told.get((user, packet.pk))
            if news and (before is None or news > before):
                found[user].append(News(packet, as_of, before))
    return found


def _settled(since: datetime) -> "QuerySet[Packet]":
    """Packets of which the machine is done with every document, and with one of them lately."""
    unsettled = Document.objects.filter(packet=OuterRef("pk"), state__in=UNSETTLED_STATES)
    lately = Document.objects.filter(packet=OuterRef("pk"), settled_at__gt=since)
    done = Packet.objects.filter(Exists(lately), ~Exists(unsettled))
    with_last = done.annotate(last_settled=Max("documents__settled_at")).order_by("pk")
    people = Prefetch("site__memberships", Membership.objects.filter(user__in=_mailable()))
    return with_last.select_related("site", "batch").prefetch_related(people)


def _mailable() -> "QuerySet[User]":
    """Coordinators who have an address and want mail. What staff have to do is told elsewhere."""
    people = User.objects.filter(is_active=True, is_staff=False).exclude(email="")
    return people.exclude(mailbox__is_wanted=False)


def _members(packet: Packet, person: int | None) -> Iterator[int]:
    for membership in packet.site.memberships.all():
        if person in {None, membership.user_id}:
            yield membership.user_id


def _tell(person: int, server: BaseEmailBackend) -> bool:
    claimed = _claim(person)
    if claimed is None:
        return False
    box, news = claimed
    # Put down as told. If we die from here on, it is not sent again.
    try:
        _message(box.user, news, server).send()
    except (SMTPException, OSError) as error:
        _take_back(box, news)
        if not isinstance(error, SMTPRecipientsRefused):
            raise
        logger.warning("the mail server refuses the address of %s", box.user.actor)
        _not_out([box.user_id], error)
        return False
    _got_out(box)
    detail = {"packets": [each.packet.reference for each in news]}
    with ledger():
        _enter(box, "mailbox.told", actor=BY[0], role=BY[1], detail=detail)
    return True


def _claim(person: int) -> tuple[Mailbox, list[News]] | None:
    """What there is to tell, put down as told; None for nothing, or not so soon again."""
    now = timezone.now()
    with transaction.atomic():
        Mailbox.objects.get_or_create(user_id=person)
        # Locked: two that send at a time shall not both find the same news.
        box = (
            Mailbox.objects.select_for_update(of=("self",)).select_related("user").get(user=person)
        )
        if box.tried_at and box.tried_at > now - timedelta(minutes=settings.DIGEST_MINUTES):
            return None
        news = _news(person).get(person, [])
        if not news:
            return None
        for each in news:
            row = {"as_of": each.as_of, "told_at": now}
            MailedPacket.objects.update_or_create(mailbox=box, packet=each.packet, defaults=row)
        Mailbox.objects.filter(pk=box.pk).update(tried_at=now)
    return box, news


def _take_back(box: Mailbox, news: list[News]) -> None:
    with transaction.atomic():
        for each in news:
            row = MailedPacket.objects.filter(mailbox=box, packet=each.packet)
            if each.told:
                row.update(as_of=each.told)
            else:
                row.delete()


def _message(person: User, news: list[News], server: BaseEmailBackend) -> EmailMessage:
    """No name of a file, of a patient or a value read: mail is read on the way."""
    needed = Document.objects.visible_to(person).needing_site().select_related("site")
    count = needed.count()
    context = {
        "person": person,
        "news": news,
        "needed": [
            (each, reason(each.code), address("document", each.pk)) for each in needed[:NEEDED]
        ],
        "count": count,
        "start": address("home"),
        "switch": address("account_mail"),
    }
    done = (
        f"{news[0].packet.reference} is done" if len(news) == 1 else f"{len(news)} packets are done"
    )
    left = f"{count} document{' needs' if count == 1 else 's need'} your attention"
    return EmailMessage(
        subject=f"{done}: {left}" if count else f"{done}: nothing needs your attention",
        body=render_to_string("mail/digest.txt", context),
        to=[person.email],
        headers={"Auto-Submitted": "auto-generated"},  # RFC 3834: out-of-office replies stay away
        connection=server,
    )


def _enter(box: Mailbox, event: str, *, actor: str, role: str, detail: Mapping[str, Any]) -> None:
    """Inside ledger()."""
    row = Mailbox.objects.select_for_update().get(pk=box.pk)
    row.transitions += 1
    row.save(update_fields=["transitions"])
    record(event, subject=box.subject, n=row.transitions, actor=actor, role=role, detail=detail)
