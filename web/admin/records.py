"""Defines the base of admins whose records can be read only.

People change documents on the pages of the product, and each change has its entry in the ledger
(21 CFR 11.10(c), (e)). The admin adds, changes and removes none.
"""

from typing import Any

from django.contrib import admin
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from audit.change_tracking.change_reasons import ReasonedActions
from audit.change_tracking.read_only_admin import ReadOnlyAdminMixin


class KeysFirstPaginator(Paginator):
    """Selects the keys of a page first, and then joins the related rows of this page only.

    Otherwise a database also joins the related rows of the pages that it skips.
    """

    def page(self, number: int | str) -> "Page[Any]":
        """Return a page whose rows are selected by their keys."""
        page = super().page(number)
        rows: QuerySet[Any] = page.object_list  # type: ignore[assignment] # the admin pages querysets
        all_rows: QuerySet[Any] = self.object_list  # type: ignore[assignment] # as above
        page.object_list = all_rows.filter(pk__in=list(rows.values_list("pk", flat=True)))
        return page


class ReadOnlyAdmin(ReadOnlyAdminMixin, ReasonedActions, admin.ModelAdmin):
    """Shows records that nobody can add, change or delete in the admin."""

    actions: list[str] | None = None
    # The number of all rows is not shown, because it costs a second count of a large table.
    show_full_result_count = False
    paginator = KeysFirstPaginator
    list_per_page = 50
