"""Mail about accounts: links for a password, and what another person changed.

A notice is written in the transaction of the change that it tells of, and sent after the commit.
What the mail server refuses is tried again by the worker hosts until NOTICE_LIFE is over. The row
never holds a link: that is made when the mail is sent, so that a copy of the database lets no one
in.
"""

import logging
from datetime import timedelta
from smtplib import SMTPException
from typing import Any, Self

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import models, transaction
from django.db.models import F
from django.template.loader import render_to_string
from django.utils import timezone

from audit.ledger.log import ledger, record
from sites import account_changes, password_links

logger = logging.getLogger(__name__)

NOTICE_LIFE = timedelta(days=3)  # after which an unsent notice is given up
FIRST_WAIT = timedelta(seconds=30)  # doubled after each failure
LONGEST_WAIT = timedelta(minutes=30)
IN_HAND = timedelta(minutes=2)  # longer than one attempt takes (EMAIL_TIMEOUT)
SENDER = ("system:mailing", "service")


class AccountNoticeQuerySet(models.QuerySet["AccountNotice"]):
    def unsent(self) -> Self:
        return self.filter(sent_at=None, created_at__gt=timezone.now() - NOTICE_LIFE)


class AccountNotice(models.Model):
    """One mail to one address about one account."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="notices"
    )
    address = models.EmailField()
    about = models.CharField(max_length=200)  # the subject line
    text = models.TextField()
    has_link = models.BooleanField(default=False)  # for choosing a password
    created_at = models.DateTimeField(default=timezone.now)
    next_try_at = models.DateTimeField(default=timezone.now)
    tries = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    objects = AccountNoticeQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.about} to {self.address}"


def is_mail_on() -> bool:
    """Whether mail leaves this installation, with links that lead back to it."""
    return bool(settings.SITE_URL and settings.EMAIL_HOST)


def write(person: Any, about: str, text: str, *, to: str = "", has_link: bool = False) -> bool:
    """Queue a notice to the person's address, or to the address `to`. Inside `ledger()`.

    Returns whether there is anywhere to send it.
    """
    address = to or person.email
    if not (address and is_mail_on()):
        return False
    AccountNotice.objects.create(
        user_id=person.pk, address=address, about=about, text=text, has_link=has_link
    )
    transaction.on_commit(deliver_due, robust=True)
    return True


def deliver_due() -> int:
    """Send what is due, each notice once. Returns how many were sent."""
    due = AccountNotice.objects.unsent().filter(next_try_at__lte=timezone.now())
    return sum(_deliver(notice) for notice in due.select_related("user") if _claim(notice))


def _claim(notice: AccountNotice) -> bool:
    """Take it in hand: of several that try, one gets it."""
    same = AccountNotice.objects.unsent().filter(pk=notice.pk, tries=notice.tries)
    return same.update(tries=F("tries") + 1, next_try_at=timezone.now() + IN_HAND) == 1


def _deliver(notice: AccountNotice) -> bool:
    row = AccountNotice.objects.filter(pk=notice.pk)
    try:
        _message(notice).send()
    except (SMTPException, OSError) as error:
        wait = min(FIRST_WAIT * 2**notice.tries, LONGEST_WAIT)
        said = f"{type(error).__name__}: {error}"[:200]
        row.update(next_try_at=timezone.now() + wait, error=said)
        logger.warning("a notice about account %s could not be sent: %s", notice.user.pk, said)
        return False
    row.update(sent_at=timezone.now(), error="")
    with ledger():
        _enter(notice)
    return True


def _message(notice: AccountNotice) -> EmailMessage:
    link = password_links.address_for(notice.user) if notice.has_link else ""
    context = {"notice": notice, "link": link, "hours": settings.ACCOUNT_LINK_HOURS}
    return EmailMessage(
        subject=notice.about,
        body=render_to_string("mail/account.txt", context),
        to=[notice.address],
        headers={"Auto-Submitted": "auto-generated"},  # RFC 3834
    )


def _enter(notice: AccountNotice) -> None:
    person = account_changes.numbered(notice.user.pk)
    record(
        "user.notified",
        subject=person.actor,
        n=person.revision,
        actor=SENDER[0],
        role=SENDER[1],
        detail={"address": notice.address, "about": notice.about},
    )
