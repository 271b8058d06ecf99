"""Sends alerts about alarms by email and webhook: when one begins, while it lasts, when it is over.

Alerts are written in one transaction with the alarm's change, a message of the outbox for each
channel, and sent afterwards. A crash in between loses none. A crash between sending and deleting
the message sends it twice, with the same number. A message that could not be delivered for a day is
discarded, because it is out of date.
"""

import logging
import smtplib
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from audit import outbox
from audit.outbox import (
    Delivery,
    DeliveryFailed,
    DeliveryPolicy,
    MessageKind,
    NothingToDeliver,
    OutboxMessage,
)
from ingestion.models import AlarmMessage, AlarmRow, Channel
from ingestion.operations import alarms
from ingestion.operations.alarms import Alarm
from ingestion.webhook import call_webhook
from sites import approvals

logger = logging.getLogger(__name__)

CHECK_INTERVAL_SECONDS = 60.0
RETRY = DeliveryPolicy(
    initial_wait=timedelta(seconds=30),
    max_wait=timedelta(minutes=15),
    lifetime=timedelta(days=1),
    tries_outdated=True,  # Each alert is sent at least once.
)
MAX_SUBJECT_CHARACTERS = 150
_Event = AlarmMessage.Event


def check_and_send() -> None:
    """Check the alarms, and deliver the outbox. A worker host does so in a `PeriodicCheck`."""
    update_alerts()
    outbox.deliver_each_minute()
    approvals.expire_due()


def update_alerts(now: datetime | None = None) -> list[Alarm]:
    """Compare the alarms with the stored ones, and write alerts about changes.

    Returns the active alarms.
    """
    now = now or timezone.now()
    found = alarms.find_alarms()
    with transaction.atomic():
        rows = {row.key: row for row in AlarmRow.objects.select_for_update()}
        for alarm in found.alarms:
            _store(alarm, rows.get(alarm.key), now)
        for key, row in rows.items():
            if row.over_at is None and found.is_over(key):
                row.over_at = now
                row.save(update_fields=["over_at"])
                _write_alert(row, _Event.OVER, "")
    return list(found.alarms)


def _store(alarm: Alarm, row: AlarmRow | None, now: datetime) -> None:
    """Store an active alarm, and write an alert if it has begun or has lasted for long."""
    begun = {"text": alarm.text, "began_at": now, "alerted_at": now, "over_at": None}
    if row is None:
        row, is_created = AlarmRow.objects.get_or_create(key=alarm.key, defaults=begun)
        if is_created:  # Otherwise another host stored it at the same moment.
            _write_alert(row, _Event.BEGUN, alarm.action)
        return
    if row.over_at is not None:
        event, changes = _Event.BEGUN, begun
    elif now - row.alerted_at >= timedelta(hours=settings.ALERT_AGAIN_HOURS):
        event, changes = _Event.LASTS, {"text": alarm.text, "alerted_at": now}
    else:
        return
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(update_fields=list(changes))
    _write_alert(row, event, alarm.action)


def _write_alert(row: AlarmRow, event: AlarmMessage.Event, action: str) -> None:
    """Write a message for each channel. Messages about one alarm are sent in their order."""
    for channel in list_channels():
        content = {"event": event, "channel": channel, "text": row.text, "do": action}
        message = AlarmMessage.objects.create(alarm=row, **content)
        outbox.post(KINDS[channel].name, {"message": message.pk}, ordering_key=row.key)


def list_channels() -> list[Channel]:
    """Return the channels that the settings configure."""
    configured = {Channel.MAIL: settings.ALERT_EMAILS, Channel.WEBHOOK: settings.ALERT_WEBHOOK}
    return [channel for channel, target in configured.items() if target]


def send_due_alerts(*, is_requested: bool = False) -> list[str]:
    """Send the alerts that are due. Returns errors, as sentences.

    With `is_requested`, a person asked for it: alerts that wait after a failure are tried too.
    """
    names = [kind.name for kind in KINDS.values()]
    return outbox.deliver_due(*names, is_requested=is_requested).errors


def prune_messages(before: datetime) -> int:
    """Remove alerts that were written before that time and do not wait. Returns how many."""
    names = [kind.name for kind in KINDS.values()]
    waiting = OutboxMessage.objects.filter(kind__in=names).exclude(state=OutboxMessage.State.DEAD)
    waiting_keys = [message.payload["message"] for message in waiting]
    return (
        AlarmMessage.objects.filter(created_at__lt=before).exclude(pk__in=waiting_keys).delete()[0]
    )


def _deliver(delivery: Delivery) -> None:
    messages = AlarmMessage.objects.select_related("alarm")
    message = messages.filter(pk=delivery.payload["message"]).first()
    if message is None:  # It was pruned.
        raise NothingToDeliver
    if message.channel == Channel.MAIL:
        _mail(message)
    else:
        _call_webhook(message)
    with transaction.atomic():
        delivery.complete()
        AlarmMessage.objects.filter(pk=message.pk).update(sent_at=timezone.now())


KINDS = {
    channel: MessageKind(f"{alarms.ALERT_KIND_PREFIX}{channel}", _deliver, RETRY)
    for channel in Channel
}


def _mail(message: AlarmMessage) -> None:
    headline = message.text.partition(". ")[0].rstrip(".")
    began_at = f"{message.alarm.began_at:%Y-%m-%d %H:%M}"
    paragraphs = [message.text]
    if message.event == _Event.OVER:
        headline = _("Resolved: {alarm}").format(alarm=headline)
        paragraphs = [_("Resolved: {alarm}").format(alarm=message.text)]
    else:
        if message.event == _Event.LASTS:
            headline = _("Still active: {alarm}").format(alarm=headline)
        paragraphs.append(_("What to do: {action}").format(action=message.do))
    paragraphs += [
        _("This alarm began at {time} UTC.").format(time=began_at),
        _(
            "Sent by SiteLedger, audit trail {trail}. The Operations page shows the current status."
        ).format(trail=settings.AUDIT_TRAIL),
    ]
    # Mail programs recognise a second copy by the Message-ID.
    own_id = f"<alarm-{message.pk}@{settings.AUDIT_TRAIL}>"
    mail = EmailMessage(
        subject=f"SiteLedger: {headline}"[:MAX_SUBJECT_CHARACTERS].replace("\n", " "),
        body="\n\n".join(paragraphs) + "\n",
        to=settings.ALERT_EMAILS,
        headers={"Message-ID": own_id, "Auto-Submitted": "auto-generated"},  # RFC 3834
    )
    try:
        mail.send()
    except (smtplib.SMTPException, OSError) as error:
        raise DeliveryFailed(
            _("The mail server did not accept the message: {error}").format(
                error=f"{type(error).__name__}: {error}"
            )
        ) from error


def _call_webhook(message: AlarmMessage) -> None:
    content = {
        "id": message.pk,  # the same when the message is sent again
        "trail": settings.AUDIT_TRAIL,
        "alarm": message.alarm.key,
        "event": message.event,
        "message": message.text,
        "what_to_do": message.do,
        "began_at": message.alarm.began_at.isoformat(),
        "written_at": message.created_at.isoformat(),
    }
    call_webhook(settings.ALERT_WEBHOOK, content)
