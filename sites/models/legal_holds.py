"""Stores legal holds. While one is in force, its study's documents are kept after any date (R14).

Regulatory affairs sets and lifts holds, each with a reason. A hold is lifted, but never deleted.
"""

from collections.abc import Iterable
from typing import Self

from django.conf import settings
from django.core.validators import MinLengthValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.ledger.recorded_row import RecordedRow


class LegalHoldQuerySet(models.QuerySet["LegalHold"]):
    """Selects the holds that are in force."""

    def in_force(self) -> Self:
        """Return the holds that are not lifted, oldest first."""
        return self.filter(lifted_at=None).order_by("pk")

    def in_force_by_study(self, studies: Iterable[int]) -> dict[int, bool]:
        """Return for each study whether a hold is in force, without studies that never had one."""
        rows = self.filter(study__in=studies).order_by().values_list("study", "lifted_at")
        found: dict[int, bool] = {}
        for study, lifted_at in rows:
            found[study] = found.get(study, False) or lifted_at is None
        return found


class LegalHold(RecordedRow):
    """Keeps the documents of a study until the hold is lifted, whatever its retention period."""

    study = models.ForeignKey("Study", on_delete=models.PROTECT, related_name="holds")
    reason = models.CharField(
        max_length=300,
        validators=[MinLengthValidator(10)],
        help_text=_("Why the documents have to be kept, for example an announced inspection."),
    )
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, editable=False, related_name="+"
    )
    set_at = models.DateTimeField(_("set (UTC)"), default=timezone.now, editable=False)
    lifted_because = models.CharField(_("reason for lifting"), max_length=300, blank=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
    )
    lifted_at = models.DateTimeField(_("lifted (UTC)"), null=True, editable=False)

    objects = LegalHoldQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="a_hold_has_its_reason"),
            models.CheckConstraint(
                condition=Q(lifted_at=None, lifted_by=None, lifted_because="")
                | Q(Q(lifted_at__isnull=False, lifted_by__isnull=False), ~Q(lifted_because="")),
                name="a_lifted_hold_says_who_when_and_why",
            ),
        ]

    def __str__(self) -> str:
        return f"Legal hold {self.pk} on {self.study}"
