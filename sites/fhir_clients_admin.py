"""Registers and revokes clients of FHIR Bulk Data exports in the admin.

Only administrators have the permissions, because a client may export resources of all sites.
"""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.audited_admin import LedgerAdminMixin
from sites.models import FhirClient
from sites.models.fhir_clients import RESOURCE_TYPES


class FhirClientForm(forms.ModelForm):
    """Registers a client with its keys and the types that it may export."""

    resource_types = forms.MultipleChoiceField(
        label=_("Resource types"),
        choices=[(name, name) for name in RESOURCE_TYPES],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The client may export these resources of all sites."),
    )

    class Meta:
        model = FhirClient
        fields: ClassVar = ["client_id", "name", "public_keys", "resource_types"]


@admin.register(FhirClient)
class FhirClientAdmin(LedgerAdminMixin, admin.ModelAdmin):
    """Clients are registered, changed and revoked, but never deleted."""

    form = FhirClientForm
    untracked_fields = ("revision",)
    list_display = ["client_id", "name", "resource_types", "state", "created_at"]
    search_fields = ["client_id", "name"]
    search_help_text = _("Enter a client ID or a name.")
    actions = ["revoke"]
    fields: ClassVar = ["client_id", "name", "public_keys", "resource_types"]

    def get_fields(self, request: HttpRequest, obj: FhirClient | None = None) -> list[Any]:
        return [*self.fields, "state", "created_at", "revoked_at"] if obj else list(self.fields)

    def get_readonly_fields(self, request: HttpRequest, obj: FhirClient | None = None) -> list[Any]:
        """Keep the client ID, because the ledger and the client name it."""
        return ["client_id", "state", "created_at", "revoked_at"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description=_("Revoke"), permissions=["change"])
    def revoke(self, request: HttpRequest, rows: QuerySet[FhirClient]) -> None:
        """Revoke the selected clients, and record each in the ledger."""
        now = timezone.now()
        for client in rows.filter(revoked_at=None).select_for_update(of=("self",)):
            client.revoked_at = now
            client.save(update_fields=["revoked_at"])
            self.record_change(request, client, {"revoked_at": {"old": None, "new": str(now)}})
        self.message_user(request, _("The selected clients are revoked."))

    @admin.display(description=_("state"))
    def state(self, client: FhirClient) -> str:
        """Return the state of the client in words."""
        return gettext("usable") if client.is_usable else gettext("revoked")
