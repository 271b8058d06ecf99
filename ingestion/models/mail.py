"""Stores who receives mail, and about what they were notified."""

from django.db import models
from django.utils import timezone

from audit.ledger.recorded_row import RecordedRow
from ingestion.models.batches import Packet
from sites.models import User


class Mailbox(RecordedRow):
    """Stores the mail settings of a person. Without a row, mail is wanted and none was sent."""

    user = models.OneToOneField(User, on_delete=models.PROTECT, related_name="mailbox")
    is_wanted = models.BooleanField(default=True)
    tried_at = models.DateTimeField(null=True)  # the time of the last digest, sent or not
    error = models.CharField(max_length=200, blank=True)  # why the last digest was not sent
    revision = models.PositiveIntegerField(default=0, editable=False, db_column="transitions")

    def __str__(self) -> str:
        return str(self.user)


class MailedPacket(models.Model):
    """Stores which changes of a packet a person was notified about, so that no mail repeats one."""

    mailbox = models.ForeignKey(Mailbox, on_delete=models.PROTECT, related_name="packets")
    packet = models.ForeignKey(Packet, on_delete=models.PROTECT, related_name="mailed")
    as_of = models.DateTimeField()  # the last `settled_at` of its documents in the mail
    told_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "ingestion_told"
        constraints = [
            models.UniqueConstraint(
                fields=["mailbox", "packet"], name="a_person_is_told_of_a_packet_in_one_place"
            )
        ]

    def __str__(self) -> str:
        return f"{self.mailbox} of {self.packet}"
