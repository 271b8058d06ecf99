"""Defines the admin site: Django's own, with the header of the product.

It is outside `web.admin`, whose modules register with it. Django creates the site at its first use,
and a module that registers while the site is being created would register nowhere.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _


class SiteLedgerAdmin(admin.AdminSite):
    """Replaces Django's admin site. It has no sidebar, because the header has the navigation."""

    site_header = site_title = "SiteLedger"
    index_title = _("Records and settings")
    site_url = None
    enable_nav_sidebar = False  # the header has the navigation, and lists get the width

    @method_decorator(login_not_required)
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to /login/, the only page on which people sign in."""
        next_page = request.GET.get(REDIRECT_FIELD_NAME, "")
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            # A redirect of a coordinator to the sign-in page would never end.
            raise PermissionDenied
        return redirect_to_login(next_page or request.path.replace("login/", ""))

    @method_decorator(login_not_required)
    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Sign out. Without a session, `admin_view` redirects to the index, as in stock Django."""
        return super().logout(request, extra_context)

    def password_change(  # type: ignore[override] # Django returns a redirect for POST too
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the product's own page, which records the change in the ledger (R09, R19)."""
        return redirect("password")
