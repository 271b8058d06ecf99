"""Shows and searches the ledger in the admin, where entries cannot be changed.

People with the permission `audit.redact` can redact details from the list, with a reason.
"""

from datetime import UTC
from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.change_reasons import REASON_FIELD
from audit.change_tracking.read_only_admin import ReadOnlyAdminMixin
from audit.change_tracking.undeletable import UndeletableAdmin
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.ledger.redaction import RedactionError, find_redaction, redact_entry
from audit.models import Entry

MAX_COUNTED_ENTRIES = 10_000  # of a list with a filter or a search


class AuditTrailPaginator(Paginator):
    """Paginates entries, newest first, without counting or skipping millions of rows.

    The numbers of entries have no gap. So, without filters, the last number is the number of
    entries, and the first number of each page follows from it. With filters, only the newest
    MAX_COUNTED_ENTRIES are listed.
    """

    @cached_property
    def count(self) -> int:
        """Return the number of entries, or at most MAX_COUNTED_ENTRIES of a filtered list."""
        if self._is_narrowed:
            return self._entries.values("seq")[:MAX_COUNTED_ENTRIES].count()
        return self._entries.values_list("seq", flat=True).first() or 0

    def page(self, number: int | str) -> "Page[Any]":
        """Return a page. Without filters it is found by number, so that no row is skipped."""
        number = self.validate_number(number)
        if self._is_narrowed:
            return super().page(number)
        newest = self.count - (number - 1) * self.per_page
        return Page(self._entries.filter(seq__lte=newest)[: self.per_page], number, self)

    @property
    def _entries(self) -> QuerySet[Entry]:
        entries: QuerySet[Entry] = self.object_list  # type: ignore[assignment]
        return entries

    @property
    def _is_narrowed(self) -> bool:
        return bool(self._entries.query.has_filters())


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdminMixin, UndeletableAdmin, admin.ModelAdmin):
    """Shows the entries of the ledger, and redacts the detail of an entry.

    Nothing else can change.
    """

    list_display = [
        "seq", "recorded", "event", "subject", "site", "doc_id", "move", "code", "actor",
        "short_hash",
    ]  # fmt: skip
    list_filter = [("recorded_at", admin.DateFieldListFilter)]
    search_fields = [
        "subject",
        "doc_id",
        "correlation_id",
    ]  # `get_search_results` compares whole values
    search_help_text = format_lazy(
        _(
            "Enter a complete subject (document:17), document identifier or correlation ID. At "
            "most {limit} entries are listed. The Audit trail page has more filters."
        ),
        limit=f"{MAX_COUNTED_ENTRIES:,}",
    )
    show_full_result_count = False
    list_per_page = 100
    ordering = ["-seq"]
    sortable_by = ()  # another order would sort all entries
    actions = ["redact_details"]
    fields = [
        "seq", "recorded", "event", "subject", "site", "doc_id", "move", "code", "actor",
        "correlation_id", "prev", "hash", "body", "recorded_detail",
    ]  # fmt: skip
    readonly_fields = ["recorded", "move", "recorded_detail"]

    def get_retention_reason(self, obj: Any) -> str:
        """Return why entries cannot be deleted, as a sentence for the person who tried."""
        return gettext(
            "Entries cannot be deleted, because the hashes of all later entries depend on them."
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entry]:
        return super().get_queryset(request).select_related("detail")

    def get_paginator(
        self, request: HttpRequest, queryset: QuerySet[Any], *options: Any
    ) -> Paginator:
        # The history page of an entry lists rows of another model.
        paginator_class = AuditTrailPaginator if queryset.model is Entry else Paginator
        return paginator_class(queryset, *options)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the entries with this value in the first column that has it.

        Each column is searched by its index, for the whole value.
        """
        if not (term := search_term.strip()):
            return queryset, False
        matches = (queryset.filter(**{column: term}) for column in self.search_fields)
        return next((found for found in matches if found.exists()), queryset.none()), False

    @admin.display(description=_("recorded (UTC)"), ordering="recorded_at")
    def recorded(self, entry: Entry) -> str:
        """Return the time of the entry in UTC, to the second."""
        return f"{entry.recorded_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

    @admin.display(description=_("from → to"))
    def move(self, entry: Entry) -> str:
        """Return the states before and after the event, or only the one that is known."""
        return " → ".join(state for state in (entry.from_state, entry.to_state) if state)

    @admin.display(description=_("hash"))
    def short_hash(self, entry: Entry) -> str:
        """Return the first and the last four hex digits of the entry's hash."""
        return f"{entry.hash[:4]}…{entry.hash[-4:]}"

    @admin.display(description=_("detail"))
    def recorded_detail(self, entry: Entry) -> str:
        """Return the detail of the entry, or a link to the entry that records its redaction."""
        if hasattr(entry, "detail"):
            return entry.detail.detail
        redaction = find_redaction(entry.pk)
        if redaction is None:
            return ""
        address = reverse("admin:audit_entry_change", args=[redaction.pk])
        sentence = gettext('Redacted on {date} UTC. See <a href="{address}">entry {number}</a>.')
        return format_html(
            sentence, date=self.recorded(redaction), address=address, number=redaction.pk
        )

    def has_redact_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may redact details.

        Django calls this for the action `redact`.
        """
        return request.user.has_perm("audit.redact")

    @admin.action(description=_("Redact the detail (personal data)"), permissions=["redact"])
    def redact_details(self, request: HttpRequest, selected: QuerySet[Entry]) -> None:
        """Redact the details of all selected entries, or of none if one cannot be redacted."""
        person: Any = request.user
        reason = request.POST[REASON_FIELD].strip()
        by: Actor = person.actor
        try:
            with ledger():
                for entry in selected.order_by("seq"):
                    redact_entry(entry.pk, reason=reason, by=by, authorised_by=by.name)
        except RedactionError as error:
            sentence = gettext("No detail was redacted: {error}.").format(error=error)
            self.message_user(request, sentence, messages.ERROR)
        else:
            self.message_user(
                request, _("The details were redacted. The reason is recorded in the audit trail.")
            )
