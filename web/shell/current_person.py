"""Who is at a page, for the middlewares around all of them."""

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from sites.models import User

# Tokens open these, or nothing does: sessions are not looked at.
PROGRAM_PATHS = ("/api/", "/healthz", "/readyz", "/metrics", "/static/")


def current_person(request: HttpRequest) -> User | None:
    """Whoever is signed in."""
    user = getattr(request, "user", None)
    return user if isinstance(user, User) else None


def current_page_name(request: HttpRequest) -> str:
    """As its URL is named, "admin:index" with its namespace."""
    match = request.resolver_match
    return match.view_name if match else ""


def requested_next_page(request: HttpRequest) -> str:
    """The page that the request says to go on to, when that is one of ours; else ""."""
    given = request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME, "")
    is_ours = url_has_allowed_host_and_scheme(
        given, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return given if is_ours else ""
