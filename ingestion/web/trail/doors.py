"""Who may open the pages of the audit trail: staff with the permission that a page names."""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache

from sites.models import User

View = Callable[..., HttpResponseBase]
SEE, CHECK, EXPORT = "audit.view_entry", "audit.check_ledger", "audit.export_ledger"
SEE_REVIEWS, REVIEW = "audit.view_auditreview", "audit.add_auditreview"


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
