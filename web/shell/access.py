"""Restricts pages: one decorator states the methods and the permission of each view.

Django's `LoginRequiredMiddleware` demands sign-in for every view. A view that people can open
without it is marked with `login_not_required` where it is defined.
"""

from collections.abc import Callable, Sequence
from functools import wraps

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from sites.models import User

View = Callable[..., HttpResponseBase]

READ = ("GET", "HEAD")
FORM = ("GET", "HEAD", "POST")
CHANGE = ("POST",)
DOWNLOAD = ("GET",)  # a HEAD request would be recorded as a download


class SignedIn(HttpRequest):
    """The request of a signed-in person, for type checking: the user is never anonymous."""

    user: User


def restrict_page(
    methods: Sequence[str], *, permission: str = "", may_be_stored: bool = False
) -> Callable[[View], View]:
    """Return a decorator that restricts a view to HTTP methods and staff with a permission.

    Without `permission`, the view is open to every person who is signed in, and limits itself to
    what they can see. Other methods are answered with 405, missing permissions with 403. Browsers
    do not store the response unless `may_be_stored`.
    """

    def restricted(view: View) -> View:
        by_method = require_http_methods(methods)(view)

        @wraps(view)
        def checked(request: HttpRequest, *args: object, **named: object) -> HttpResponseBase:
            if permission:
                user = request.user
                if not (isinstance(user, User) and user.is_staff and user.has_perm(permission)):
                    raise PermissionDenied
            return by_method(request, *args, **named)

        return checked if may_be_stored else never_cache(checked)

    return restricted
