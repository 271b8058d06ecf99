"""The admin site: stock Django in the product's shell. Staff pages hang on its URLs.

It stands outside `web.admin`, which registers with it: Django makes the site when it
is first touched, and a module that registers while the site is being made registers nowhere.
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
    site_header = site_title = "SiteLedger"
    index_title = _("Records and settings")
    site_url = None
    enable_nav_sidebar = False  # the header has the navigation, and lists get the width

    @method_decorator(login_not_required)
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """There is one place to sign in, for everybody: /login/."""
        after = request.GET.get(REDIRECT_FIELD_NAME, "")
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            # Sending a coordinator to sign in again would lead in a circle.
            raise PermissionDenied
        return redirect_to_login(after or request.path.replace("login/", ""))

    @method_decorator(login_not_required)
    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Sign out. Without a session, `admin_view` redirects to the index, as in stock Django."""
        return super().logout(request, extra_context)

    def password_change(  # type: ignore[override] # a redirect, as Django's own answer to POST
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """There is one place for that too: Django's own form would leave no entry (R09, R19)."""
        return redirect("password")
