"""Finds the signed-in person and the requested page, for the middlewares of all pages."""

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from sites.models import User

# Programs use these paths, with a token or without authentication. Sessions are ignored.
PROGRAM_PATHS = ("/api/", "/fhir/", "/healthz", "/readyz", "/metrics", "/static/")


def get_current_person(request: HttpRequest) -> User | None:
    """Return the signed-in person, or None."""
    user = getattr(request, "user", None)
    return user if isinstance(user, User) else None


def get_current_page_name(request: HttpRequest) -> str:
    """Return the name of the requested URL with its namespace, for example "admin:index"."""
    match = request.resolver_match
    return match.view_name if match else ""


def get_requested_next_page(request: HttpRequest) -> str:
    """Return the page to continue with from the parameter `next`; "" if it is on another host."""
    url = request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME, "")
    is_allowed = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_allowed else ""
