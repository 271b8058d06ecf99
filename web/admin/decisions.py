"""Shows QA decisions in the admin: who decided what, when and in which role. Read only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from ingestion.models import Decision
from ingestion.review import signature_payload
from web.admin.records import ReadOnlyAdmin


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """Shows the decisions of QA, each compared with its entry in the ledger."""

    list_display = ["decided_at", "action", "document", "printed_name", "meaning"]
    list_filter = ["action", ("decided_at", admin.DateFieldListFilter), "document__site"]
    list_select_related = ["document__site"]
    search_fields = ["document__doc_id__startswith", "document__site__site_id__exact"]
    search_help_text = _("Enter the beginning of a document identifier, or a site number.")
    fields = [
        "document", "page", "action", "from_state", "to_state", "reason_code", "reason", "note",
        "other", "printed_name", "role", "decided_at", "meaning", "signature", "sha256",
    ]  # fmt: skip
    readonly_fields = ["page", "signature"]
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Decision]:
        return super().get_queryset(request).select_related("document__site", "other__site")

    @admin.display(description=_("links"))
    def page(self, decision: Decision) -> str:
        url = reverse("document", args=[decision.document_id])
        return format_html('<a href="{}">{}</a>', url, _("Document page"))

    @admin.display(description=_("matches the signature"))
    def signature(self, decision: Decision) -> str:
        """Return whether the decision still is as it was signed, and the fields that changed."""
        return render_to_string(
            "documents/_signature.html", {"changed": signature_payload.find_changes(decision)}
        )
