"""Defines tables for operations: worker hosts, scaling, site summaries, alarms.

They hold no records of documents. If they are lost, they are soon filled again.
"""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from sites.models import Site


class WorkerHost(models.Model):
    """Stores the heartbeat of one `manage.py workers`. `dispatch.processes` writes it."""

    name = models.CharField(max_length=200, unique=True)  # host:pid:start, never used again
    host = models.CharField(max_length=120)
    workers = models.PositiveIntegerField()  # shifts that it runs at the same time
    at_work = models.PositiveIntegerField(default=0)  # busy workers at the last heartbeat
    software = models.CharField(max_length=40)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["host", "pk"]

    def __str__(self) -> str:
        return self.name


class ScalingRow(models.Model):
    """Stores how many worker hosts are wanted. There is one row. `operations.scaling` writes it."""

    wanted_hosts = models.PositiveIntegerField()
    full_since = models.DateTimeField(null=True)  # since when all hosts are full and work waits
    idle_since = models.DateTimeField(null=True)  # since when a host is idle and no work waits
    asked_at = models.DateTimeField(null=True)  # when one more host was last asked for
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "ingestion_scaling"

    def __str__(self) -> str:
        return f"{self.wanted_hosts} hosts wanted"


class SiteSummary(models.Model):
    """Stores the completeness of a site when it was last counted, to sort long lists.

    What a page shows about a site is counted when the page is requested (docs/adr/0025).
    """

    site = models.OneToOneField(
        Site, on_delete=models.CASCADE, primary_key=True, related_name="summary"
    )
    stamp = models.CharField(max_length=64)  # of the day and of all requirements
    seq = models.BigIntegerField()  # the last ledger entry when it was counted
    met = models.PositiveIntegerField()
    needed = models.PositiveIntegerField()
    runs_out_on = models.DateField(null=True)  # the next day on which a document expires
    counted_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.met} of {self.needed} at {self.site_id}"


class Channel(models.TextChoices):
    """Lists the channels of alarms."""

    MAIL = "mail", _("Mail")
    WEBHOOK = "webhook", _("Webhook")


class AlarmRow(models.Model):
    """Stores one kind of alarm that is or was active. `operations.alerts` writes it."""

    key = models.CharField(max_length=100, unique=True)
    text = models.TextField(db_column="said")
    began_at = models.DateTimeField()
    alerted_at = models.DateTimeField(db_column="told_at")  # time of the last alerts
    over_at = models.DateTimeField(null=True)  # null while it lasts

    class Meta:
        ordering = ["-began_at"]
        db_table = "ingestion_alarm"
        verbose_name = _("alarm")

    def __str__(self) -> str:
        return self.key


class AlarmMessage(models.Model):
    """Stores an alert: a message about an alarm on one channel. The outbox delivers it."""

    class Event(models.TextChoices):
        """Lists what an alert reports about its alarm."""

        BEGUN = "begun", _("started")
        LASTS = "lasts", _("continues")
        OVER = "over", _("ended")

    alarm = models.ForeignKey(AlarmRow, on_delete=models.CASCADE, related_name="messages")
    event = models.CharField(max_length=10, choices=Event, db_column="word")
    channel = models.CharField(max_length=10, choices=Channel)
    text = models.TextField(db_column="said")
    do = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.alarm_id} {self.event} by {self.channel}"
