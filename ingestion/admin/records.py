"""What all records have in common here: they can be looked at, and nothing else.

21 CFR 11.10(c), (e): people move a document on through the product's own pages,
each with its ledger entry; the admin adds, changes and removes none.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit.reasons import ReasonedActions


class ReadOnlyAdmin(ReasonedActions, admin.ModelAdmin):
    actions: list[str] | None = None
    # Counting a large table twice for "of 1,204,331 in all" is not worth a slow page.
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
