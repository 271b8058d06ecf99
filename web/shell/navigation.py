"""The one header of the product: what a person may open, and where they are.

A context processor for every page, the admin's too. Items go by permission, so
a role that gains one gains the item.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.http import HttpRequest
from django.urls import reverse

from ingestion.review import assignments
from sites import approvals
from sites.models import User


@dataclass(frozen=True, slots=True)
class Item:
    label: str
    url_name: str
    shown_to: Callable[[User], bool]
    also: tuple[str, ...] = ()  # other pages of its section
    waiting: Callable[[User], int] | None = None  # how many things; asked where it is shown


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    is_current: bool
    waiting: Callable[[], int] | None


def _coordinators(user: User) -> bool:
    return not user.is_staff


def _everybody(user: User) -> bool:
    return True


def _staff_with(permission: str) -> Callable[[User], bool]:
    return lambda user: user.is_staff and user.has_perm(permission)


def _who_see_sites(user: User) -> bool:
    return not user.is_staff or user.sees_all_sites


_PACKETS, _DOCUMENTS = "/packets/", "/documents/"

ITEMS = (
    Item("My packets", "home", _coordinators, (_PACKETS, _DOCUMENTS)),
    Item("Upload a packet", "upload", _coordinators),
    Item(
        "Review",
        "review_queue",
        _staff_with("ingestion.review_document"),
        waiting=lambda _user: assignments.waiting(),
    ),
    Item(
        "Records",
        "admin:ingestion_document_changelist",
        _staff_with("ingestion.view_document"),
        (_DOCUMENTS, "/admin/ingestion/finding/"),
    ),
    Item(
        "Packets",
        "admin:ingestion_packet_changelist",
        _staff_with("ingestion.view_packet"),
        (_PACKETS,),
    ),
    Item("Required documents", "required", _who_see_sites, ("/figures/",)),
    Item("Operations", "ops", _staff_with("ingestion.view_chunk")),
    Item("Audit trail", "trail", _staff_with("audit.view_entry")),
    Item(
        "Work",
        "admin:ingestion_batch_changelist",
        _staff_with("ingestion.view_chunk"),
        ("/admin/ingestion/chunk/", "/admin/django_q/"),
    ),
    Item("Sites", "admin:clinical_sites_site_changelist", _staff_with("clinical_sites.view_site")),
    Item(
        "People",
        "admin:clinical_sites_user_changelist",
        _staff_with("clinical_sites.view_user"),
        ("/access/",),
    ),
    Item(
        "Approvals",
        "approvals",
        _staff_with("clinical_sites.change_portal"),
        waiting=approvals.count_waiting_for,
    ),
    Item("Help", "help", _everybody),
)


def navigation(request: HttpRequest) -> dict[str, list[Link]]:
    user = getattr(request, "user", None)  # absent when a middleware failed early
    if not isinstance(user, User):
        return {"navigation": []}
    shown = [(item, reverse(item.url_name)) for item in ITEMS if item.shown_to(user)]
    # The item with the longest address that the page lies under, so that "/" does not claim all.
    fits = {url: _fit(request.path, (url, *item.also)) for item, url in shown}
    current = max(fits, key=fits.__getitem__, default="")
    links = [
        Link(item.label, url, url == current and fits[url] > 0, _asked_of(item, user))
        for item, url in shown
    ]
    return {"navigation": links}


def _asked_of(item: Item, user: User) -> Callable[[], int] | None:
    return partial(item.waiting, user) if item.waiting else None


def _fit(path: str, sections: tuple[str, ...]) -> int:
    """The length of the longest section that holds the path; 0 for none."""
    return max((len(url) for url in sections if path == url or _within(path, url)), default=0)


def _within(path: str, section: str) -> bool:
    return section != "/" and path.startswith(section)
