"""The middleware that gives auditors and inspectors read-only access (R34).

Each page that they open is counted before it is shown (`sites.accounts.auditor_access_log`). They
may submit the forms of their own sign-in, and request an export of the audit trail. All other
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
from web.shell.current_person import PROGRAM_PATHS, current_page_name, current_person

_READING = ("GET", "HEAD", "OPTIONS")
_MAY_SEND = {"login", "login_code", "logout", "password", "account_code", "session"}
_MAY_SEND |= {"password_link"}
_MAY_SEND |= {"trail_export_confirm"}
_NOT_A_PAGE = {"session"}
_REFUSED = _("Auditors have read-only access. Nothing was changed.")


class ReadOnlyAuditors:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        auditor = _auditor(request)
        response = self._get_response(request)
        if auditor and current_page_name(request) not in _NOT_A_PAGE:
            # Counted before the first byte is sent: a page that cannot be counted is not shown.
            said = f"{request.method} {request.get_full_path()}"
            auditor_access_log.enter()
            auditor_access_log.count(auditor, f"{response.status_code} {said}", timezone.now())
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> None:
        if request.method in _READING or current_page_name(request) in _MAY_SEND:
            return
        if _auditor(request):
            raise PermissionDenied(str(_REFUSED))


def _auditor(request: HttpRequest) -> User | None:
    if request.path.startswith(PROGRAM_PATHS):
        return None
    person = current_person(request)
    return person if person and person.is_auditor else None
