"""Shows rows in the admin that it neither adds nor changes nor deletes."""

from typing import Any

from django.http import HttpRequest


class ReadOnlyAdminMixin:
    """Shows rows that the admin does not add, change or delete. It must be the first base."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
