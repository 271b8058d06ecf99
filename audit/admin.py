"""The ledger in the admin: to be read and searched, never edited."""

from datetime import UTC
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.models import Entry


@admin.register(Entry)
class EntryAdmin(admin.ModelAdmin):
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
    actions = None
    fields = [
        "seq", "recorded", "event", "subject", "site", "doc_id", "move", "code", "actor",
        "correlation_id", "prev", "hash", "body", "recorded_detail",
    ]  # fmt: skip
    readonly_fields = ["recorded", "move", "recorded_detail"]

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
        return entry.detail.detail if hasattr(entry, "detail") else ""
