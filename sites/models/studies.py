"""Stores studies, their sites, and the people who belong to a site."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from audit.ledger.recorded_row import RecordedRow
from sites.models.portals import Portal
from sites.models.users import User, make_visibility_filter

version_number = RegexValidator(
    r"^([vV]?\d+(\.\d+)*)?$", _("Enter the version number of the protocol, for example 3.0 or v3.")
)


class Study(RecordedRow):
    """Describes a clinical study, with its current protocol version and its retention period."""

    protocol_number = models.CharField(max_length=60, unique=True)
    protocol_version = models.CharField(
        max_length=40,
        blank=True,
        validators=[version_number],
        help_text=_(
            "The current version. Approvals and signed protocol pages have to name it. If "
            "empty, versions are not compared."
        ),
    )
    title = models.CharField(max_length=300, blank=True)
    ended_on = models.DateField(
        _("end of the study"),
        null=True,
        blank=True,
        help_text=_(
            "The end of the study in all countries. The retention period starts on this "
            "day. If empty, the study has not ended."
        ),
    )
    retention_years = models.PositiveSmallIntegerField(
        _("retention period in years"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_(
            "Years after the end of the study. If empty, the setting RETENTION_YEARS applies."
        ),
    )

    class Meta:
        ordering = ["protocol_number"]
        verbose_name_plural = _("studies")

    def __str__(self) -> str:
        return self.protocol_number

    @property
    def years_kept(self) -> int:
        """Return the retention period in years, of the study itself or of RETENTION_YEARS."""
        years: int = self.retention_years or settings.RETENTION_YEARS
        return years

    @property
    def retained_until(self) -> date | None:
        """Return the last day of the retention period, or None if the study has not ended."""
        if self.ended_on is None:
            return None
        year = self.ended_on.year + self.years_kept
        try:
            return self.ended_on.replace(year=year)
        except ValueError:  # 29 February
            return date(year, 3, 1)


class SiteQuerySet(models.QuerySet["Site"]):
    """Selects the sites that a person can see."""

    def visible_to(self, user: User) -> Self:
        """Return the sites that the person can see (R15)."""
        return self.filter(make_visibility_filter(user))

    def of(self, user: User) -> Self:
        """Return the sites of which the person is a member."""
        return self.filter(memberships__user=user)


class Site(RecordedRow):
    """A clinical site. `site_id` is unique per deployment."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="sites")
    portal = models.ForeignKey(Portal, on_delete=models.PROTECT, related_name="sites")
    site_id = models.CharField(_("site number"), max_length=60, unique=True)
    name = models.CharField(max_length=200)
    country = models.CharField(max_length=100)
    activated_on = models.DateField(
        null=True,
        blank=True,
        help_text=_("The day of site activation. GCP certificates have to be valid on this day."),
    )
    investigator = models.CharField(
        _("principal investigator"),
        max_length=200,
        blank=True,
        db_default="",
        help_text=_("The full name. Names on documents that differ by a few letters are reviewed."),
    )
    investigator_licence = models.CharField(
        _("licence number of the principal investigator"),
        max_length=60,
        blank=True,
        db_default="",
        help_text=_("A licence with a number that differs by one character is reviewed."),
    )

    objects = SiteQuerySet.as_manager()

    class Meta:
        ordering = ["site_id"]

    def __str__(self) -> str:
        return f"{self.site_id} · {self.name}, {self.country}"

    def log_facts(self) -> Mapping[str, Any]:
        """Return the study for lines of the log, if it is loaded with the row."""
        is_loaded = Site.study.is_cached(self)
        return {"study": self.study.protocol_number} if is_loaded else {}


class Membership(models.Model):
    """Assigns a person to a site, whose documents the person can then see."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="memberships")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "site"], name="a_person_joins_a_site_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.site.site_id}"
