"""Manages API tokens in the admin: creation, with the secret shown once, and revocation."""

from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.audited_admin import LedgerAdminMixin
from audit.change_tracking.change_reasons import REASON_FIELD
from sites.accounts import token_approval
from sites.models import TOKEN_LIFE, ApiToken, TokenScope, User


class ApiTokenForm(forms.ModelForm):
    """Creates an API token. Its validity is entered in days."""

    scopes = forms.MultipleChoiceField(
        choices=TokenScope.choices,
        initial=[TokenScope.READ, TokenScope.SUBMIT],
        widget=forms.CheckboxSelectMultiple,
    )
    # A number instead of a date, because Django's date inputs have no labels (ticket 36203).
    days = forms.IntegerField(
        label=_("Valid for (days)"), min_value=1, max_value=730, initial=TOKEN_LIFE.days
    )

    class Meta:
        model = ApiToken
        fields = ["name", "site", "user", "scopes"]


@admin.register(ApiToken)
class ApiTokenAdmin(LedgerAdminMixin, admin.ModelAdmin):
    """Tokens are created and revoked, but never edited or deleted."""

    form = ApiTokenForm
    untracked_fields = ("revision", "last_used_at")
    secret_fields = ("digest",)
    list_display = ["name", "shown_prefix", "site", "user", "state", "expires_at", "last_used_at"]
    list_filter = ["site", ("expires_at", admin.DateFieldListFilter)]
    list_select_related = ["site", "user"]
    search_fields = ["name", "prefix", "site__site_id", "user__username"]
    search_help_text = _("Enter a name, the prefix of a token, a site number or a user name.")
    actions = ["revoke"]
    fields: ClassVar = [
        "name", "shown_prefix", "site", "user", "scopes", "state", "created_at", "created_by",
        "approved_at", "expires_at", "revoked_at", "last_used_at",
    ]  # fmt: skip

    def ledger_site(self, obj: Any) -> str:
        """Return the number of the token's site for its entries, or ""."""
        return obj.site.site_id if obj.site else ""

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[Any]:
        return list(self.fields) if obj else ["name", "site", "user", "scopes", "days"]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[Any]:
        return list(self.fields) if obj else []

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> Any:
        if obj:  # a read-only page, without any field of the form
            options["form"] = forms.ModelForm
        return super().get_form(request, obj, change, **options)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Offer administrators all active staff, and other people only themselves."""
        if db_field.name == "user":
            # Only administrators can create a token for another person.
            staff = User.objects.filter(is_staff=True, is_active=True)
            person: Any = request.user
            options["queryset"] = staff if person.is_superuser else staff.filter(pk=person.pk)
        return super().formfield_for_foreignkey(db_field, request, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        person: Any = request.user
        needs_approval = not change and token_approval.needs_approval(obj, person)
        if not change:
            obj.expires_at = timezone.now() + timedelta(days=form.cleaned_data["days"])
            obj.created_by = request.user
            obj.new_secret = obj.generate_secret()
            obj.approved_at = None if needs_approval else timezone.now()
        super().save_model(request, obj, form, change)
        if needs_approval:
            reason = request.POST.get(REASON_FIELD, "").strip()
            token_approval.request_approval(obj, by=person, reason=reason)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the secret only in this response. A message could be stored in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Token created"),
            "opts": self.opts,
            "token": obj,
            "secret": obj.new_secret,
        }
        return TemplateResponse(request, "admin/api_token_created.html", context)

    @admin.action(description=_("Revoke"), permissions=["change"])
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> None:
        """Revoke the selected tokens, and record each in the ledger."""
        now = timezone.now()
        for token in rows.filter(revoked_at=None).select_for_update(of=("self",)):
            token.revoked_at = now
            token.save(update_fields=["revoked_at"])
            self.record_change(request, token, {"revoked_at": {"old": None, "new": str(now)}})
        self.message_user(request, _("The selected tokens are revoked."))

    @admin.display(description=_("token"))
    def shown_prefix(self, token: ApiToken) -> str:
        """Return the beginning of the token, which identifies it and is not secret."""
        return f"slt_{token.prefix}_..."

    @admin.display(description=_("state"))
    def state(self, token: ApiToken) -> str:
        """Return the state of the token in words."""
        if token.revoked_at:
            return gettext("Revoked")
        if not token.approved_at:
            return gettext("Waiting for approval")
        return gettext("Active") if token.is_usable else gettext("Expired")
