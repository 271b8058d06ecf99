"""Sends emails about accounts: links for a password, and changes that another person made.

A notice is a message of the outbox. It is written in the transaction of the change that it reports,
and sent after the commit. If the mail server refuses it, worker hosts retry it for three days. The
message never contains a link: a link is created when the email is sent, so that a copy of the
database lets nobody sign in.
"""

from datetime import timedelta
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string

from audit import outbox
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.outbox import Delivery, DeliveryFailed, DeliveryPolicy, MessageKind
from sites import password_links

MAX_ERROR_CHARACTERS = 200
SENDER = Actor.software("mailing", "service")


def is_mail_on() -> bool:
    """Return whether this installation sends email and knows its own address, for links."""
    return bool(settings.SITE_URL and settings.EMAIL_HOST)


def write(person: Any, about: str, text: str, *, to: str = "", has_link: bool = False) -> bool:
    """Write a notice to the person's address, or to the address `to`. Requires `ledger()`.

    `about` is the subject line. With `has_link`, the email has a link for choosing a password.
    Returns False if there is no address to send it to, or if email is off.
    """
    address = to or person.email
    if not (address and is_mail_on()):
        return False
    content = {"address": address, "about": about, "text": text, "has_link": has_link}
    outbox.post(KIND.name, {"user": person.pk, **content})
    transaction.on_commit(send_due_notices, robust=True)
    return True


def send_due_notices() -> int:
    """Send the notices that are due. Returns how many were sent."""
    return outbox.deliver_due(KIND.name).delivered


def _deliver(delivery: Delivery) -> None:
    notice = delivery.payload
    person = get_user_model().objects.get(pk=notice["user"])
    context = {
        "person": person,
        "text": notice["text"],
        "link": password_links.make_link_address(person) if notice["has_link"] else "",
        "hours": settings.ACCOUNT_LINK_HOURS,
    }
    email = EmailMessage(
        subject=notice["about"],
        body=render_to_string("mail/account.txt", context),
        to=[notice["address"]],
        headers={"Auto-Submitted": "auto-generated"},  # RFC 3834
    )
    try:
        email.send()
    except (SMTPException, OSError) as error:
        reason = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS]
        raise DeliveryFailed(reason) from error
    delivery.complete()  # before the entry, so that an error of the ledger sends no second email
    with ledger():
        detail = {"address": notice["address"], "about": notice["about"]}
        person.record("user.notified", by=SENDER, detail=detail)


KIND = MessageKind(
    "account_notice",
    _deliver,
    DeliveryPolicy(
        initial_wait=timedelta(seconds=30),
        max_wait=timedelta(minutes=30),
        lifetime=timedelta(days=3),
    ),
)
