"""Defines which documents sites need, how long they are valid, and which are waived.

The ledger records every change with the old and the new value.
"""

from typing import Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.ledger.recorded_row import RecordedRow
from ingestion.rules.checks.validity_terms import TermsOverride
from ingestion.rules.document_types import TYPES
from ingestion.rules.site_file import requirements
from sites.models import Site, Study, User


class RequiredOf(models.TextChoices):
    """Lists of whom a document of a type is required."""

    SITE = requirements.RequiredFor.SITE.value, _("the site")
    INVESTIGATOR = requirements.RequiredFor.INVESTIGATOR.value, _("the principal investigator")
    TEAM = requirements.RequiredFor.TEAM.value, _("the investigator and every sub-investigator")
    DELEGATED = (
        requirements.RequiredFor.DELEGATED.value,
        _("the investigators and everyone on the delegation log"),
    )
    LABORATORY = requirements.RequiredFor.LABORATORY.value, _("every laboratory")


def validate_document_type(slug: str) -> None:
    """Raise ValidationError unless the type exists.

    The field has no choices, because types are data that a data manager extends without migrations.
    """
    if slug not in TYPES:
        unknown = _("The document type %(type)s does not exist.")
        raise ValidationError(unknown, params={"type": slug})


def get_type_name(slug: str) -> str:
    """Return the name of a document type, or the slug if there is no such type any more."""
    return TYPES[slug].name if slug in TYPES else slug


class RequiredDocument(RecordedRow):
    """Stores a line of a study's expected document list. Without any, the default list applies."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="required_documents")
    document_type = models.CharField(
        _("document"), max_length=40, validators=[validate_document_type]
    )
    each = models.CharField(
        _("required for"), max_length=20, choices=RequiredOf, default=RequiredOf.SITE
    )
    required_from = models.DateField(
        null=True,
        blank=True,
        help_text=_(
            "The first day on which the document is required. If empty, it is always required."
        ),
    )

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "document_type"], name="a_study_requires_a_document_once"
            )
        ]

    def __str__(self) -> str:
        return f"{get_type_name(self.document_type)} for {self.study}"


class SiteRequirement(RecordedRow):
    """Stores a difference of one site from its study's list: one document more, or one less."""

    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="requirements")
    document_type = models.CharField(
        _("document"), max_length=40, validators=[validate_document_type]
    )
    is_required = models.BooleanField(_("required at this site"), default=True)
    each = models.CharField(
        _("required for"), max_length=20, choices=RequiredOf, default=RequiredOf.SITE
    )
    reason = models.CharField(max_length=300)

    class Meta:
        ordering = ["site", "pk"]
        verbose_name = _("site-specific requirement")
        verbose_name_plural = _("site-specific requirements")
        constraints = [
            models.UniqueConstraint(
                fields=["site", "document_type"], name="a_site_differs_in_a_document_once"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a_difference_has_its_reason"),
        ]

    def __str__(self) -> str:
        needed = "needed" if self.is_required else "not needed"
        return f"{get_type_name(self.document_type)} {needed} at site {self.site.site_id}"


class OverrideQuerySet(models.QuerySet["ValidityOverride"]):
    """Finds the overrides of a study by document type."""

    def of_study(self, study: int) -> dict[str, TermsOverride]:
        """Return the overrides of a study by document type."""
        return {row.document_type: row.override for row in self.filter(study=study)}


class ValidityOverride(RecordedRow):
    """Stores the validity of one document type in one study, if it differs from the type's rule.

    It applies to documents that are checked from now on, and to the nightly check for expiries.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="validity_overrides")
    document_type = models.CharField(
        _("document"), max_length=40, validators=[validate_document_type]
    )
    max_age_months = models.PositiveSmallIntegerField(
        _("months"),
        null=True,
        blank=True,
        validators=[MaxValueValidator(600)],
        help_text=_(
            "Maximum age. 0 means no maximum. If empty, the rule of the document type applies."
        ),
    )
    warn_days = models.CharField(
        _("warning days"),
        max_length=60,
        blank=True,
        validators=[RegexValidator(r"^\s*[1-9]\d{0,2}(\s*,\s*[1-9]\d{0,2})*\s*$")],
        help_text=_(
            "Days before the expiry date, for example 90, 30, 7. If empty, the rule of "
            "the document type applies."
        ),
    )
    warns_only = models.BooleanField(
        _("warn only"),
        default=False,
        help_text=_("File expired documents with a remark instead of rejecting them."),
    )
    reason = models.CharField(max_length=300)

    objects = OverrideQuerySet.as_manager()

    class Meta:
        ordering = ["study", "document_type"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "document_type"], name="a_study_overrides_a_validity_once"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="an_override_has_its_reason"),
        ]

    def __str__(self) -> str:
        return f"{get_type_name(self.document_type)} in {self.study}"

    @property
    def override(self) -> TermsOverride:
        """Return the rule as the checks receive it: the age in months, the warnings in days."""
        days = tuple(int(days) for days in self.warn_days.split(",") if days.strip())
        return TermsOverride(self.max_age_months, days or None, self.warns_only)


class WaiverQuerySet(models.QuerySet["Waiver"]):
    """Selects the waivers that are in force."""

    def in_force(self) -> Self:
        """Return the waivers that were not revoked."""
        return self.filter(revoked_at=None)


class Waiver(RecordedRow):
    """Stores the decision that a site needs no document of a type. It is revoked, never deleted."""

    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="waivers")
    document_type = models.CharField(
        _("document"), max_length=40, validators=[validate_document_type]
    )
    whose = models.CharField(
        max_length=120,
        blank=True,
        help_text=_(
            "The person or the laboratory. If empty, the waiver applies to everyone who "
            "needs the document."
        ),
    )
    reason = models.CharField(max_length=300, help_text=_("The site reads this text."))
    granted_by = models.ForeignKey(
        User, on_delete=models.PROTECT, editable=False, related_name="waivers"
    )
    granted_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_because = models.CharField(_("reason for revoking"), max_length=300, blank=True)
    revoked_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, editable=False, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects = WaiverQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["site", "document_type", "whose"],
                condition=Q(revoked_at=None),
                name="a_document_is_waived_once",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a_waiver_has_its_reason"),
            models.CheckConstraint(
                condition=Q(revoked_at=None, revoked_by=None, revoked_because="")
                | Q(Q(revoked_at__isnull=False, revoked_by__isnull=False), ~Q(revoked_because="")),
                name="a_revoked_waiver_says_who_when_and_why",
            ),
        ]

    def __str__(self) -> str:
        whose = f" of {self.whose}" if self.whose else ""
        return f"{get_type_name(self.document_type)}{whose} at site {self.site.site_id}"

    def clean(self) -> None:
        same = Waiver.objects.in_force().filter(
            site=self.site_id, document_type=self.document_type, whose=self.whose
        )
        if self.revoked_at is None and same.exclude(pk=self.pk).exists():
            raise ValidationError(_("A waiver for this document is already in force."))
