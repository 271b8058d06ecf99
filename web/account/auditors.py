"""Restricts auditors and inspectors to read-only access, by a middleware (R34).

Each page that they open is counted before it is sent (`sites.accounts.auditor_access_log`). They
can submit the forms of their own sign-in and request an export of the audit trail. All other
changes are refused, whatever other roles the account has.
"""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from sites.accounts import auditor_access_log
from sites.models import User
from web.shell.current_person import PROGRAM_PATHS, get_current_page_name, get_current_person

_READ_METHODS = ("GET", "HEAD", "OPTIONS")
_PERMITTED_FORMS = {
    "account_code",
    "login",
    "login_code",
    "logout",
    "password",
    "password_link",
    "session",
    "trail_export_confirm",
}
_NOT_COUNTED = {"session"}  # scripts request it, people do not
_REFUSAL = _("Auditors have read-only access. Nothing was changed.")


class ReadOnlyAuditors:
    """Refuses changes by auditors and counts the pages that they open."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        auditor = _auditor(request)
        response = self._get_response(request)
        if auditor and get_current_page_name(request) not in _NOT_COUNTED:
            # This happens before the first byte is sent: a page that cannot be counted is not sent.
            request_line = f"{response.status_code} {request.method} {request.get_full_path()}"
            auditor_access_log.record_views()
            auditor_access_log.count_view(auditor, request_line, timezone.now())
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> None:
        """Raise PermissionDenied for a change by an auditor."""
        if request.method in _READ_METHODS or get_current_page_name(request) in _PERMITTED_FORMS:
            return
        if _auditor(request):
            raise PermissionDenied(str(_REFUSAL))


def _auditor(request: HttpRequest) -> User | None:
    """Return the signed-in auditor; None for other people and for requests of programs."""
    if request.path.startswith(PROGRAM_PATHS):
        return None
    person = get_current_person(request)
    return person if person and person.is_auditor else None
