"""What all records have in common here: they can be looked at, and nothing else.

21 CFR 11.10(c), (e): people move a document on through the product's own pages,
each with its ledger entry; the admin adds, changes and removes none.
"""

from typing import Any

from django.contrib import admin
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from audit.change_tracking.change_reasons import ReasonedActions
from audit.change_tracking.undeletable import ReadOnlyAdminMixin


class KeysFirst(Paginator):
    """Joins what belongs to the rows of a page alone: a database joins what it skips as well."""

    def page(self, number: int | str) -> "Page[Any]":
        page = super().page(number)
        rows: QuerySet[Any] = page.object_list  # type: ignore[assignment] # the admin's are
        whole: QuerySet[Any] = self.object_list  # type: ignore[assignment] # as above
        page.object_list = whole.filter(pk__in=list(rows.values_list("pk", flat=True)))
        return page


class ReadOnlyAdmin(ReadOnlyAdminMixin, ReasonedActions, admin.ModelAdmin):
    actions: list[str] | None = None
    # Counting a large table twice for "of 1,204,331 in all" is not worth a slow page.
    show_full_result_count = False
    paginator = KeysFirst
    list_per_page = 50
