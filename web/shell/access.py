"""Who asks, and for what. Views behind `login_required` take a SignedIn request."""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache

from sites.models import User

View = Callable[..., HttpResponseBase]


class SignedIn(HttpRequest):
    """For type checking: after `login_required` the user is a person, never anonymous."""

    user: User


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
