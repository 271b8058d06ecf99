"""Builds the navigation of the header: the pages that a person may open, and the current one.

`navigation` is a context processor for every page, including the admin's. Each item is shown by
permission, so a role that gains the permission gains the item.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ingestion.review import assignments
from sites import approvals
from sites.models import User
from web import permissions


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """Describes an item that the header can have, and who sees it."""

    label: Promise
    url_name: str
    is_visible_to: Callable[[User], bool]
    sections: tuple[str, ...] = ()  # other paths whose pages belong to the item
    count_waiting: Callable[[User], int] | None = None  # what waits for the person


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """Describes a link in the header of one page."""

    label: Promise
    url: str
    is_current: bool
    waiting: Callable[[], int] | None  # called by the template


def _is_coordinator(user: User) -> bool:
    return not user.is_staff


def _staff_with(permission: str) -> Callable[[User], bool]:
    return lambda user: user.is_staff and user.has_perm(permission)


_PACKETS, _DOCUMENTS = "/packets/", "/documents/"

ITEMS = (
    NavigationItem(_("My packets"), "home", _is_coordinator, (_PACKETS, _DOCUMENTS)),
    NavigationItem(_("Upload a packet"), "upload", _is_coordinator),
    NavigationItem(
        _("Review"),
        "review_queue",
        _staff_with(permissions.REVIEW_DOCUMENTS),
        count_waiting=lambda _user: assignments.count_waiting(),
    ),
    NavigationItem(
        _("Documents"),
        "admin:ingestion_document_changelist",
        _staff_with(permissions.VIEW_DOCUMENTS),
        (_DOCUMENTS, "/admin/ingestion/finding/"),
    ),
    NavigationItem(
        _("Packets"),
        "admin:ingestion_packet_changelist",
        _staff_with(permissions.VIEW_PACKETS),
        (_PACKETS,),
    ),
    NavigationItem(_("Search"), "search", lambda user: not user.is_staff or user.sees_all_sites),
    NavigationItem(
        _("Required documents"),
        "required",
        lambda user: not user.is_staff or user.sees_all_sites,
        ("/figures/",),
    ),
    NavigationItem(_("Operations"), "ops", _staff_with(permissions.VIEW_OPERATIONS)),
    NavigationItem(_("Audit trail"), "trail", _staff_with(permissions.VIEW_ENTRIES)),
    NavigationItem(
        _("Batches"),
        "admin:ingestion_batch_changelist",
        _staff_with(permissions.VIEW_OPERATIONS),
        ("/admin/ingestion/chunk/", "/admin/django_q/"),
    ),
    NavigationItem(
        _("Sites"), "admin:clinical_sites_site_changelist", _staff_with(permissions.VIEW_SITES)
    ),
    NavigationItem(
        _("People"),
        "admin:clinical_sites_user_changelist",
        _staff_with(permissions.VIEW_ACCOUNTS),
        ("/access/",),
    ),
    NavigationItem(
        _("Approvals"),
        "approvals",
        _staff_with(permissions.VIEW_APPROVALS),
        count_waiting=approvals.count_waiting_for,
    ),
    NavigationItem(_("Help"), "help", lambda _user: True),
)


def list_navigation_links(request: HttpRequest) -> dict[str, list[NavigationLink]]:
    """Return the links of the header for the person of the request."""
    user = getattr(request, "user", None)  # absent when a middleware failed early
    if not isinstance(user, User):
        return {"navigation": []}
    visible = [(item, reverse(item.url_name)) for item in ITEMS if item.is_visible_to(user)]
    # The current item has the longest path that contains the page, so "/" does not win every time.
    lengths = {url: _length_of_match(request.path, (url, *item.sections)) for item, url in visible}
    current = max(lengths, key=lengths.__getitem__, default="")
    links = [
        NavigationLink(
            item.label,
            url,
            is_current=url == current and lengths[url] > 0,
            waiting=partial(item.count_waiting, user) if item.count_waiting else None,
        )
        for item, url in visible
    ]
    return {"navigation": links}


def _length_of_match(path: str, sections: tuple[str, ...]) -> int:
    """Return the length of the longest section that contains the path; 0 for none."""
    containing = (
        section
        for section in sections
        if path == section or (section != "/" and path.startswith(section))
    )
    return max(map(len, containing), default=0)
