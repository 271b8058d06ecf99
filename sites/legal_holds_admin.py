"""Registers legal holds in the admin. They are set and lifted with a reason, and recorded."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.audited_admin import LedgerAdminMixin
from audit.change_tracking.undeletable import UndeletableAdmin
from sites.models.legal_holds import LegalHold


@admin.register(LegalHold)
class LegalHoldAdmin(UndeletableAdmin, LedgerAdminMixin, admin.ModelAdmin):
    """Sets and lifts legal holds. A hold cannot be deleted."""

    reason_field = "lifted_because"
    list_display = ["study", "reason", "set_by", "set_at", "in_force"]
    list_filter = ["study", ("lifted_at", admin.EmptyFieldListFilter)]
    list_select_related = ["study", "set_by"]
    search_fields = ["study__protocol_number", "reason"]
    search_help_text = _("Enter a protocol number, or a word of the reason.")

    def get_retention_reason(self, obj: Any) -> str:
        """Return why legal holds cannot be deleted, and what to do instead."""
        return gettext(
            "Legal holds cannot be deleted, because they record why documents were kept. Lift "
            "the hold instead."
        )

    def get_fields(self, request: HttpRequest, obj: LegalHold | None = None) -> list[Any]:
        fields = ["study", "reason"]
        if obj is None:
            return fields
        return [*fields, "set_by", "set_at", "lifted_because", "lifted_by", "lifted_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: LegalHold | None = None) -> list[Any]:
        fields = self.get_fields(request, obj) if obj else []
        return [name for name in fields if name != "lifted_because"]

    def has_change_permission(self, request: HttpRequest, obj: LegalHold | None = None) -> bool:
        is_lifted = obj is not None and obj.lifted_at is not None
        return not is_lifted and super().has_change_permission(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LegalHold]:
        return super().get_queryset(request).select_related("study", "set_by", "lifted_by")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.set_by = request.user
        elif obj.lifted_because:
            obj.lifted_by, obj.lifted_at = request.user, timezone.now()
        super().save_model(request, obj, form, change)

    @admin.display(description=_("in force"), boolean=True)
    def in_force(self, hold: LegalHold) -> bool:
        """Return whether the hold has not been lifted."""
        return hold.lifted_at is None
