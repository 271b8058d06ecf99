"""Who is mailed, and what they were told."""

from django.db import models
from django.utils import timezone

from ingestion.models.batches import Packet
from sites.models import User


class Mailbox(models.Model):
    """A person's mail. There is no row for who never was mailed and never switched it off."""

    user = models.OneToOneField(User, on_delete=models.PROTECT, related_name="mailbox")
    is_wanted = models.BooleanField(default=True)
    tried_at = models.DateTimeField(null=True)  # the last digest, sent or not
    error = models.CharField(max_length=200, blank=True)  # why the last one did not get out
    transitions = models.PositiveIntegerField(default=0)  # the n of its next ledger entry

    def __str__(self) -> str:
        return str(self.user)

    @property
    def subject(self) -> str:
        """How the ledger names it."""
        return f"mailbox:{self.pk}"


class Told(models.Model):
    """Up to which change a person was told of a packet: never the same thing twice."""

    mailbox = models.ForeignKey(Mailbox, on_delete=models.PROTECT, related_name="told")
    packet = models.ForeignKey(Packet, on_delete=models.PROTECT, related_name="told")
    as_of = models.DateTimeField()  # the last `settled_at` of its documents that was told
    told_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["mailbox", "packet"], name="a_person_is_told_of_a_packet_in_one_place"
            )
        ]

    def __str__(self) -> str:
        return f"{self.mailbox} of {self.packet}"
