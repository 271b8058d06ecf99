"""Registers studies' and sites' required documents, validity overrides and waivers in the admin.

Every change is recorded in the ledger.
"""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.audited_admin import LedgerAdminMixin
from ingestion.models import RequiredDocument, SiteRequirement, ValidityOverride, Waiver
from ingestion.models.requirements import get_type_name
from ingestion.rules.document_types import TYPES


class DocumentTypeAdmin(LedgerAdminMixin, admin.ModelAdmin):
    """The base of admins whose rows concern one document type, which is selected by its name."""

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        if db_field.name == "document_type":
            choices = [(slug, kind.name) for slug, kind in TYPES.items()]
            return forms.ChoiceField(choices=choices, label=_("Document"))
        return super().formfield_for_dbfield(db_field, request, **options)

    def ledger_site(self, obj: Any) -> str:
        """Return the number of the row's site for its entries, or "" for a row of a study."""
        return obj.site.site_id if hasattr(obj, "site") else ""

    @admin.display(description=_("document"), ordering="document_type")
    def document(self, row: Any) -> str:
        """Return the name of the document type."""
        return get_type_name(row.document_type)


@admin.register(RequiredDocument)
class RequiredDocumentAdmin(DocumentTypeAdmin):
    """Registers the documents that a study requires of all its sites."""

    list_display = ["study", "document", "each", "required_from"]
    list_display_links = ["document"]
    list_filter = ["study"]
    list_select_related = ["study"]
    search_fields = ["study__protocol_number", "document_type"]
    search_help_text = _(
        "Enter a protocol number. A study without its own list uses the default list."
    )


@admin.register(SiteRequirement)
class SiteRequirementAdmin(DocumentTypeAdmin):
    """Registers the requirements in which one site differs from its study."""

    list_display = ["site", "document", "is_required", "each", "reason"]
    list_display_links = ["document"]
    list_filter = ["is_required", "site"]
    list_select_related = ["site"]
    search_fields = ["site__site_id", "document_type", "reason"]


@admin.register(ValidityOverride)
class ValidityOverrideAdmin(DocumentTypeAdmin):
    """Registers for how many months a study accepts documents of a type, and when it warns."""

    list_display = ["study", "document", "max_age_months", "warn_days", "warns_only", "reason"]
    list_display_links = ["document"]
    list_filter = ["study", "warns_only"]
    list_select_related = ["study"]
    search_fields = ["study__protocol_number", "document_type", "reason"]


@admin.register(Waiver)
class WaiverAdmin(DocumentTypeAdmin):
    """Waivers are granted and revoked with a reason. They are never edited or deleted."""

    reason_field = "revoked_because"
    list_display = ["document", "whose", "site", "reason", "granted_by", "granted_at", "in_force"]
    list_filter = ["site", ("revoked_at", admin.EmptyFieldListFilter)]
    list_select_related = ["site", "granted_by"]
    search_fields = ["site__site_id", "document_type", "whose", "reason"]

    def get_fields(self, request: HttpRequest, obj: Waiver | None = None) -> list[Any]:
        granted = ["site", "document_type", "whose", "reason"]
        if obj is None:
            return granted
        revoked = ["revoked_because", "revoked_by", "revoked_at"]
        readable = ["document" if name == "document_type" else name for name in granted]
        return [*readable, "granted_by", "granted_at", *revoked]

    def get_readonly_fields(self, request: HttpRequest, obj: Waiver | None = None) -> list[Any]:
        if obj is None:
            return []
        is_open = obj.revoked_at is None
        fields = self.get_fields(request, obj)
        return [name for name in fields if not (is_open and name == "revoked_because")]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Waiver]:
        return super().get_queryset(request).select_related("site", "granted_by", "revoked_by")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.granted_by = request.user
        elif obj.revoked_because and obj.revoked_at is None:
            obj.revoked_by, obj.revoked_at = request.user, timezone.now()
        super().save_model(request, obj, form, change)

    @admin.display(description=_("in force"), boolean=True)
    def in_force(self, waiver: Waiver) -> bool:
        """Return whether the waiver has not been revoked."""
        return waiver.revoked_at is None
