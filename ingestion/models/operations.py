"""What operations look at: hosts, how far sites were, what a bucket has to follow, alarms.

None of it is a record of documents: all of it could be lost, and would be there again soon.
"""

from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from sites.models import Site, Study


class WorkerHost(models.Model):
    """One `manage.py workers`, and when it last gave a sign. Written by `dispatch.heartbeat`."""

    name = models.CharField(max_length=200, unique=True)  # host:pid:start, never used again
    host = models.CharField(max_length=120)
    workers = models.PositiveIntegerField()  # shifts that it runs at a time
    at_work = models.PositiveIntegerField(default=0)  # of these, at the last sign
    software = models.CharField(max_length=40)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["host", "pk"]

    def __str__(self) -> str:
        return self.name


class SiteSummary(models.Model):
    """How far a site was when it was last counted: for the order of a long list alone.

    What a page shows of a site is counted when it is looked at (docs/adr/0025).
    """

    site = models.OneToOneField(
        Site, on_delete=models.CASCADE, primary_key=True, related_name="summary"
    )
    stamp = models.CharField(max_length=64)  # of the day and of all that is laid down
    seq = models.BigIntegerField()  # the ledger's last entry when it was counted
    met = models.PositiveIntegerField()
    needed = models.PositiveIntegerField()
    runs_out_on = models.DateField(null=True)  # the first day on which something does
    counted_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.met} of {self.needed} at {self.site_id}"


class LockChange(models.Model):
    """How long a study is kept has changed, and the bucket's locks do not say so yet.

    Written with the change, removed by `locks` when they do.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True)  # why it could not be followed, the last time

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.study} since {self.changed_at:%Y-%m-%d %H:%M} UTC"


class Channel(models.TextChoices):
    MAIL = "mail", _("Mail")
    WEBHOOK = "webhook", _("Webhook")


class AlarmRow(models.Model):
    """An alarm that rings, or rang: one row for each kind of it. Written by `alerts`."""

    key = models.CharField(max_length=100, unique=True)
    said = models.TextField()
    began_at = models.DateTimeField()
    told_at = models.DateTimeField()  # its last messages were written then
    over_at = models.DateTimeField(null=True)  # null while it lasts

    class Meta:
        ordering = ["-began_at"]
        db_table = "ingestion_alarm"
        verbose_name = _("alarm")

    def __str__(self) -> str:
        return self.key


class AlarmMessageQuerySet(models.QuerySet["AlarmMessage"]):
    def unsent(self) -> Self:
        return self.filter(sent_at=None, given_up_at=None)

    def failing(self, tries: int) -> Self:
        """Tried in vain so often, and nothing got out by their channel since."""
        sent = AlarmMessage.objects.filter(channel=OuterRef("channel"), sent_at__isnull=False)
        later = sent.filter(sent_at__gte=OuterRef("next_try_at"))
        return self.filter(sent_at=None, tries__gte=tries).exclude(Exists(later))


class AlarmMessage(models.Model):
    """What is to be told of an alarm on one channel: written with its change, sent later."""

    class Word(models.TextChoices):
        BEGUN = "begun", _("started")
        LASTS = "lasts", _("continues")
        OVER = "over", _("ended")

    alarm = models.ForeignKey(AlarmRow, on_delete=models.CASCADE, related_name="messages")
    word = models.CharField(max_length=10, choices=Word)
    channel = models.CharField(max_length=10, choices=Channel)
    said = models.TextField()
    do = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    tries = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True)
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)

    objects = AlarmMessageQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(sent_at=None, given_up_at=None),
                name="alarm_messages_to_send",
            )
        ]

    def __str__(self) -> str:
        return f"{self.alarm_id} {self.word} by {self.channel}"
