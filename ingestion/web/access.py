"""Who asks, and for what. Views behind `login_required` take a SignedIn request."""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache

from ingestion.models import Document
from ingestion.web.outcomes import ACTED_ON
from sites.models import User

View = Callable[..., HttpResponseBase]


class SignedIn(HttpRequest):
    """For type checking: after `login_required` the user is a person, never anonymous."""

    user: User


def visible(user: User, pk: int) -> Document:
    """Another site's document does not exist."""
    rows = Document.objects.visible_to(user).prefetch_related("findings", *ACTED_ON)
    beside = rows.select_related(
        "site__study", "packet", "batch", "duplicate_of__packet", "corrects"
    )
    return get_object_or_404(beside, pk=pk)


def of_own_site(user: User, pk: int) -> Document:
    """For what sites do about their documents; staff have pages of their own."""
    if user.is_staff:
        raise Http404
    return visible(user, pk)


def for_staff_with(permission: str) -> Callable[[View], View]:
    """Decorator. Strangers are sent to the sign-in; everybody else without it is refused."""

    def guarded(view: View) -> View:
        @never_cache
        @login_required
        @wraps(view)
        def opened(request: HttpRequest, *args: object, **named: object) -> HttpResponseBase:
            user = request.user
            if not (isinstance(user, User) and user.is_staff and user.has_perm(permission)):
                raise PermissionDenied
            return view(request, *args, **named)

        return opened

    return guarded
