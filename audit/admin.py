"""The ledger in the admin: to be read and searched, never edited.

Whoever may take out personal data (`audit.redact`) does it from the list, with a reason.
"""

from datetime import UTC
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from audit.kept import KeptAdmin
from audit.log import ledger
from audit.models import Entry
from audit.reasons import FIELD
from audit.redaction import NotRedacted, redact, redaction_of


@admin.register(Entry)
class EntryAdmin(KeptAdmin, admin.ModelAdmin):
    list_display = [
        "seq", "recorded", "event", "subject", "site", "doc_id", "move", "code", "actor",
        "short_hash",
    ]  # fmt: skip
    list_filter = ["event", "site", ("recorded_at", admin.DateFieldListFilter)]
    # Exact, so that each search is one look into an index, however long the trail.
    search_fields = ["subject__exact", "doc_id__exact", "correlation_id__exact"]
    search_help_text = (
        "A subject (document:17), a document's identifier or a correlation id, in full."
    )
    show_full_result_count = False
    list_per_page = 100
    ordering = ["-seq"]
    actions = ["take_out"]
    fields = [
        "seq", "recorded", "event", "subject", "site", "doc_id", "move", "code", "actor",
        "correlation_id", "prev", "hash", "body", "recorded_detail",
    ]  # fmt: skip
    readonly_fields = ["recorded", "move", "recorded_detail"]

    def kept_because(self, obj: Any) -> str:
        return "Nobody deletes an entry: what is on record stays, and all later ones prove it."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entry]:
        return super().get_queryset(request).select_related("detail")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="recorded (UTC)", ordering="recorded_at")
    def recorded(self, entry: Entry) -> str:
        return f"{entry.recorded_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

    @admin.display(description="from → to")
    def move(self, entry: Entry) -> str:
        return " → ".join(state for state in (entry.from_state, entry.to_state) if state)

    @admin.display(description="hash")
    def short_hash(self, entry: Entry) -> str:
        return f"{entry.hash[:4]}…{entry.hash[-4:]}"

    @admin.display(description="detail")
    def recorded_detail(self, entry: Entry) -> str:
        if hasattr(entry, "detail"):
            return entry.detail.detail
        taken_out = redaction_of(entry.pk)
        if taken_out is None:
            return ""
        address = reverse("admin:audit_entry_change", args=[taken_out.pk])
        said = 'Taken out on {} UTC, see <a href="{}">entry {}</a>'
        return format_html(said, self.recorded(taken_out), address, taken_out.pk)

    def has_redact_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("audit.redact")

    @admin.action(description="Take out the detail (personal data)", permissions=["redact"])
    def take_out(self, request: HttpRequest, chosen: QuerySet[Entry]) -> None:
        """All of the choice or nothing."""
        person: Any = request.user
        reason = request.POST[FIELD].strip()
        by = {"actor": person.actor, "role": person.role, "authorised_by": person.actor}
        try:
            with ledger():
                for entry in chosen.order_by("seq"):
                    redact(entry.pk, reason=reason, **by)
        except NotRedacted as error:
            self.message_user(request, f"Nothing was taken out: {error}.", messages.ERROR)
        else:
            self.message_user(request, "Taken out. That it was done is on record, with the reason.")
