"""Finds the start page of each role, to which sign-in and the address `/` lead."""

from django.urls import reverse

from sites.models import User
from web import permissions

# Permission and URL name of the start page. The first permission that a person has decides.
_START_PAGES = (
    (permissions.EXPORT_LEDGER, "trail"),
    (permissions.REVIEW_DOCUMENTS, "review_queue"),
    (permissions.VIEW_OPERATIONS, "ops"),
)


def start_page(user: User) -> str:
    """Return the address of the person's start page.

    Administrators, and staff without any of the permissions, start at the index of the admin.
    """
    if not user.is_staff:
        return reverse("home")
    if not user.is_superuser:
        for permission, url_name in _START_PAGES:
            if user.has_perm(permission):
                return reverse(url_name)
    return reverse("admin:index")
