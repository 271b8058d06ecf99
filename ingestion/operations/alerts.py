"""Alarms told to people, by mail and webhook: when one begins, while it lasts, when it is over.

What is to be told is written in one transaction with the alarm's change, and sent afterwards: a
crash between the two loses nothing, and one between sending and marking sends twice, which is the
lesser evil. Any number of processes may look at once; each message is taken by one of them. A
message that could not be delivered for a day is given up: by then it is no news.
"""

import hashlib
import hmac
import json
import logging
import smtplib
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2 as httpx
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connections, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from ingestion.models import AlarmMessage, AlarmRow, Channel
from ingestion.operations import alarms
from ingestion.operations.alarms import Alarm
from sites import account_notices, approvals

logger = logging.getLogger(__name__)

CHECK_INTERVAL_SECONDS = 60.0
SEND_TIMEOUT_SECONDS = 10.0  # for one message; whoever took it and died has twelve times as long
CLAIM_DURATION = timedelta(minutes=2)
INITIAL_BACKOFF = timedelta(seconds=30)  # and twice as long after each try that fails
MAX_BACKOFF = timedelta(minutes=15)
NO_NEWS = timedelta(days=1)
_Word = AlarmMessage.Word


class DeliveryFailed(Exception):
    """Why, in a sentence."""


class AlertMonitor:
    """One per host: looks once a minute in a thread of its own, so that no work waits for it.

    A slow server of somebody else holds up the next look, and nothing besides.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock()
        self._beside: threading.Thread | None = None

    def look(self) -> None:
        """Often: does nothing until a minute is over, nor while the last look still runs."""
        if self._clock() < self._next or (self._beside and self._beside.is_alive()):
            return
        self._next = self._clock() + CHECK_INTERVAL_SECONDS
        self._beside = threading.Thread(target=self._work, name="watchman", daemon=True)
        self._beside.start()

    def _work(self) -> None:
        try:
            update_alerts()
            deliver_due()
            approvals.expire_due()
            account_notices.deliver_due()
        except Exception:
            # The outermost line of this thread.
            logger.exception("alarms could not be looked after; it is tried again")
        finally:
            connections.close_all()


def update_alerts(now: datetime | None = None) -> list[Alarm]:
    """Compare with what rang before, and write what is to be told. Answers what rings now."""
    now = now or timezone.now()
    seen = alarms.find_alarms()
    with transaction.atomic():
        rows = {row.key: row for row in AlarmRow.objects.select_for_update()}
        for alarm in seen.alarms:
            _note(alarm, rows.get(alarm.key), now)
        for key, row in rows.items():
            if row.over_at is None and seen.is_over(key):
                row.over_at = now
                row.save(update_fields=["over_at"])
                _write(row, _Word.OVER, "")
    return list(seen.alarms)


def _note(alarm: Alarm, row: AlarmRow | None, now: datetime) -> None:
    again = timedelta(hours=settings.ALERT_AGAIN_HOURS)
    begun = {"said": alarm.said, "began_at": now, "told_at": now, "over_at": None}
    if row is None:
        row, is_ours = AlarmRow.objects.get_or_create(key=alarm.key, defaults=begun)
        if is_ours:  # else another host saw it at the same moment
            _write(row, _Word.BEGUN, alarm.do)
        return
    if row.over_at is not None:
        word, changes = _Word.BEGUN, begun
    elif now - row.told_at >= again:
        word, changes = _Word.LASTS, {"said": alarm.said, "told_at": now}
    else:
        return
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(update_fields=list(changes))
    _write(row, word, alarm.do)


def _write(row: AlarmRow, word: AlarmMessage.Word, do: str) -> None:
    AlarmMessage.objects.bulk_create(
        AlarmMessage(alarm=row, word=word, channel=channel, said=row.said, do=do)
        for channel in list_channels()
    )


def list_channels() -> list[Channel]:
    """Those that the settings name."""
    named = {Channel.MAIL: settings.ALERT_EMAILS, Channel.WEBHOOK: settings.ALERT_WEBHOOK}
    return [channel for channel, to in named.items() if to]


def deliver_due(*, is_asked_for: bool = False) -> list[str]:
    """Send what waits, where it is time to. Answers what went wrong, in sentences.

    `is_asked_for`: by a person, who does not wait until it is time.
    """
    waiting = AlarmMessage.objects.unsent().select_related("alarm").order_by("pk")
    is_time = Q(next_try_at__lte=timezone.now())
    # Without an error, and not yet due again: somebody has it in hand at this moment.
    waiting = waiting.filter(is_time | ~Q(error="") if is_asked_for else is_time)
    return [error for message in waiting if _take(message) and (error := _deliver(message))]


def prune_messages(before: datetime) -> int:
    """Remove messages that are over and done with. Answers how many."""
    ended = AlarmMessage.objects.exclude(pk__in=AlarmMessage.objects.unsent().values("pk"))
    return ended.filter(created_at__lt=before).delete()[0]


def _take(message: AlarmMessage) -> bool:
    """Of those who try one gets it. If it dies with it, it is another's turn after a while."""
    same = AlarmMessage.objects.unsent().filter(pk=message.pk, tries=message.tries)
    message.tries += 1
    in_hand = {"next_try_at": timezone.now() + CLAIM_DURATION, "tries": message.tries, "error": ""}
    return same.update(**in_hand) == 1


def _deliver(message: AlarmMessage) -> str:
    """Answers the error, or ""."""
    now = timezone.now()
    try:
        _SENDERS[Channel(message.channel)](message)
    except DeliveryFailed as error:
        message.error = str(error)
        message.next_try_at = now + min(
            MAX_BACKOFF, INITIAL_BACKOFF * 2 ** min(message.tries - 1, 10)
        )
        message.given_up_at = now if now - message.created_at > NO_NEWS else None
        logger.error("the alarm %s is not told: %s", message.alarm.key, error)  # noqa: TRY400 - it says why
    else:
        message.sent_at, message.error = now, ""
    message.save(update_fields=["error", "next_try_at", "given_up_at", "sent_at"])
    return message.error


def _mail(message: AlarmMessage) -> None:
    own = f"<alarm-{message.pk}@{settings.AUDIT_TRAIL}>"  # a second copy is known as one
    mail = EmailMessage(
        subject=f"SiteLedger: {_headline(message)}"[:150].replace("\n", " "),
        body=_letter(message),
        to=settings.ALERT_EMAILS,
        headers={"Message-ID": own, "Auto-Submitted": "auto-generated"},  # RFC 3834
    )
    try:
        mail.send()
    except (smtplib.SMTPException, OSError) as error:
        raise DeliveryFailed(
            _("The mail server did not accept the message: {error}").format(
                error=f"{type(error).__name__}: {error}"
            )
        ) from error


def _headline(message: AlarmMessage) -> str:
    first = message.said.partition(". ")[0].rstrip(".")
    headlines = {
        _Word.BEGUN: "{alarm}",
        _Word.LASTS: _("Still active: {alarm}"),
        _Word.OVER: _("Resolved: {alarm}"),
    }
    return headlines[_Word(message.word)].format(alarm=first)


def _letter(message: AlarmMessage) -> str:
    began_at = f"{message.alarm.began_at:%Y-%m-%d %H:%M}"
    begun = _("This alarm began at {time} UTC.").format(time=began_at)
    if message.word == _Word.OVER:
        parts = [_("Resolved: {alarm}").format(alarm=message.said), begun]
    else:
        what_to_do = _("What to do: {action}").format(action=message.do)
        parts = [message.said, what_to_do, begun]
    where = _("Sent by the ledger {trail}. See the page Operations for the current status.").format(
        trail=settings.AUDIT_TRAIL
    )
    return "\n\n".join([*parts, where]) + "\n"


def _webhook(message: AlarmMessage) -> None:
    body = json.dumps(_told(message)).encode()
    headers = {"Content-Type": "application/json", **_signed(body)}
    try:
        answer = httpx.post(
            settings.ALERT_WEBHOOK, content=body, headers=headers, timeout=SEND_TIMEOUT_SECONDS
        )
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise DeliveryFailed(
            _("The webhook could not be reached: {error}").format(
                error=f"{type(error).__name__}: {error}"
            )
        ) from error
    if not answer.is_success:
        raise DeliveryFailed(
            _("The webhook answered with status {status}.").format(status=answer.status_code)
        )


def _told(message: AlarmMessage) -> dict[str, Any]:
    """What a webhook gets. `id` is the same when it is sent again."""
    return {
        "id": message.pk,
        "trail": settings.AUDIT_TRAIL,
        "alarm": message.alarm.key,
        "event": message.word,
        "message": message.said,
        "what_to_do": message.do,
        "began_at": message.alarm.began_at.isoformat(),
        "written_at": message.created_at.isoformat(),
    }


def _signed(body: bytes) -> dict[str, str]:
    """HMAC-SHA256 over time, a dot and the body, as receivers of webhooks are used to."""
    if not settings.ALERT_WEBHOOK_SECRET_FILE:
        return {}
    try:
        secret = Path(settings.ALERT_WEBHOOK_SECRET_FILE).read_bytes().strip()
    except OSError as error:
        raise DeliveryFailed(
            _("The webhook secret cannot be read: {error}").format(error=error)
        ) from error
    at = str(int(time.time()))
    digest = hmac.new(secret, at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"X-SiteLedger-Timestamp": at, "X-SiteLedger-Signature": f"sha256={digest}"}


_SENDERS: dict[Channel, Callable[[AlarmMessage], None]] = {
    Channel.MAIL: _mail,
    Channel.WEBHOOK: _webhook,
}
