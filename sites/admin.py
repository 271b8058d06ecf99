"""Registers studies, sites, portals and people in the admin. The ledger records every change."""

from datetime import date
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet, URLField
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_static.admin import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDevice

from audit.change_tracking.audited_admin import LedgerAdminMixin
from audit.change_tracking.change_reasons import REASON_FIELD
from audit.change_tracking.read_only_admin import ReadOnlyAdminMixin
from audit.change_tracking.undeletable import UndeletableAdmin, is_referenced
from sites import fhir_clients_admin, legal_holds_admin, portal_approval, retention
from sites.accounts import password_changes, token_admin
from sites.accounts.admin import (
    AccountActionsMixin,
    NewPersonForm,
    PersonForm,
    annotate_lockouts,
    find_causes,
)
from sites.accounts.identity import Cause
from sites.models import Membership, Portal, Site, Study, User
from sites.portal_origin import parse_origin

__all__ = [
    "fhir_clients_admin",
    "legal_holds_admin",
    "token_admin",
]  # importing them registers their classes

# Roles are defined in ingestion.roles. The next migration would undo a change of a group.
admin.site.unregister(Group)
# The keys of second factors are secret. Changes of them are recorded elsewhere.
admin.site.unregister([TOTPDevice, StaticDevice])


class MembersInline(admin.TabularInline):
    """The people of a site. Memberships are edited on the page of the person."""

    model = Membership
    verbose_name_plural = _("people of this site")
    extra = 0
    can_delete = False
    fields = ["user"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SitesInline(admin.StackedInline):
    """The sites of a person. Tabular inlines have no labels (Django ticket 36509)."""

    model = Membership
    verbose_name = _("site")
    verbose_name_plural = _("sites of this person")
    extra = 0


@admin.register(Study)
class StudyAdmin(UndeletableAdmin, LedgerAdminMixin, admin.ModelAdmin):
    """Registers studies. A study to which records refer cannot be deleted (R14)."""

    list_display = ["protocol_number", "protocol_version", "title", "site_count", "kept_until"]
    search_fields = ["protocol_number", "title"]
    readonly_fields = ["kept", "holds"]

    def get_retention_reason(self, obj: Any) -> str:
        """Return why the study cannot be deleted, or "" if nothing refers to it."""
        if not is_referenced(obj):
            return ""
        sentence = gettext(
            "This study cannot be deleted, because sites or other records refer to it. {retention}"
        )
        return sentence.format(retention=retention.describe_retention(obj))

    def get_fieldsets(self, request: HttpRequest, obj: Study | None = None) -> Any:
        """Show the retention period of a study that exists."""
        retention_fields = ["kept", "holds"] if obj else []
        reason = super().get_fieldsets(request, obj)[1:]
        return [
            (None, {"fields": ["protocol_number", "protocol_version", "title"]}),
            (_("Retention"), {"fields": ["ended_on", "retention_years", *retention_fields]}),
            *reason,
        ]

    @admin.display(description=_("kept until"), ordering="ended_on")
    def kept_until(self, study: Study) -> date | str:
        """Return the last day of the retention period, or a note that the study has not ended."""
        return study.retained_until or gettext("not ended")

    @admin.display(description=_("retention"))
    def kept(self, study: Study) -> str:
        """Return sentences about the retention period and the legal holds."""
        return retention.describe_retention(study)

    @admin.display(description=_("legal holds"))
    def holds(self, study: Study) -> str:
        """Return a link to the legal holds of the study."""
        address = reverse("admin:clinical_sites_legalhold_changelist")
        return format_html(
            '<a href="{}?study__id__exact={}">{}</a>',
            address,
            study.pk,
            gettext("Legal holds of this study"),
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        studies: QuerySet[Study] = super().get_queryset(request)
        return studies.annotate(number_of_sites=Count("sites"))

    @admin.display(description=_("sites"), ordering="number_of_sites")
    def site_count(self, study: Any) -> int:
        """Return the number of the study's sites, which the query counts."""
        return int(study.number_of_sites)


@admin.register(Portal)
class PortalAdmin(LedgerAdminMixin, admin.ModelAdmin):
    """Registers portals. A changed address takes effect after a second person's approval."""

    list_display = [
        "key",
        "base_url",
        "rate_per_second",
        "burst",
        "max_in_flight",
        "timeout_seconds",
        "mirror_of",
    ]
    list_select_related = ["mirror_of"]
    list_filter = ["allow_http", "allow_private_hosts"]
    search_fields = ["key", "base_url"]
    formfield_overrides: ClassVar = {URLField: {"assume_scheme": "https"}}  # if none is entered
    fieldsets = [
        (None, {"fields": ["key", "base_url", "allowed_hosts", "secret_header"]}),
        (
            _("Rate limit"),
            {"fields": ["rate_per_second", "burst", "max_in_flight", "timeout_seconds"]},
        ),
        (_("Exceptions"), {"fields": ["allow_http", "allow_private_hosts"]}),
        (_("Mirror"), {"fields": ["mirror_of", "mirror_order"]}),
    ]

    def ledger_site(self, obj: Any) -> str:
        """Return the number of the portal's site for its entries, or ""."""
        return portal_approval.get_site_of_portal(obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Portal | None = None) -> list[str]:
        # The key identifies the portal's secret. A new key would make it another secret.
        return ["key", "approved_origin", "waiting"] if obj else []

    def get_fieldsets(self, request: HttpRequest, obj: Portal | None = None) -> Any:
        """Show the approved origin and the open request of a portal that exists."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        approval = (_("Approval"), {"fields": ["approved_origin", "waiting"]})
        return [*fieldsets[:1], approval, *fieldsets[1:]]

    @admin.display(description=_("waiting for approval"))
    def waiting(self, portal: Portal) -> str:
        """Return a link to the open request for the portal's address, or "None"."""
        open_request = portal_approval.open_request(portal)
        if open_request is None:
            return gettext("None")
        return format_html(
            '<a href="{}">{}</a>', reverse("approval", args=[open_request.pk]), open_request
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save all fields except those that need approval, and request the approval of these."""
        proposed = {name: getattr(obj, name) for name in portal_approval.GUARDED_FIELDS}
        if change:
            row = obj.lock(obj.pk)
            saved = {name: getattr(row, name) for name in proposed}
        else:
            saved = {
                "base_url": obj.base_url,
                "allow_http": False,
                "allow_private_hosts": False,
                "mirror_of_id": None,
            }
        for name, value in saved.items():
            setattr(obj, name, value)
        super().save_model(request, obj, form, change)
        is_approved = obj.approved_origin == parse_origin(proposed["base_url"])
        if proposed == saved and (is_approved or portal_approval.open_request(obj)):
            return
        by: Any = request.user
        reason = request.POST.get(REASON_FIELD, "").strip()
        approval = portal_approval.request_change(obj, proposed, by=by, reason=reason)
        self.message_user(
            request,
            format_html(
                gettext(
                    "Changes of the portal's address and exceptions take effect after a second "
                    'person approves them: <a href="{address}">{request}</a>.'
                ),
                address=reverse("approval", args=[approval.pk]),
                request=approval,
            ),
            messages.WARNING,
        )


@admin.register(Site)
class SiteAdmin(UndeletableAdmin, LedgerAdminMixin, admin.ModelAdmin):
    """Registers sites. A site to which records refer cannot be deleted (R14)."""

    list_display = ["site_id", "name", "country", "study", "portal"]
    list_filter = ["country", "study"]
    list_select_related = ["study", "portal"]
    search_fields = ["site_id", "name"]
    search_help_text = _("Enter a site number or name, or a part of it.")
    inlines = [MembersInline]

    def get_retention_reason(self, obj: Any) -> str:
        """Return why the site cannot be deleted, or "" if nothing refers to it."""
        if not is_referenced(obj):
            return ""
        sentence = gettext(
            "This site cannot be deleted, because documents or other records refer to it. "
            "{retention}"
        )
        return sentence.format(retention=retention.describe_retention(obj.study))

    def ledger_site(self, obj: Any) -> str:
        """Return the number of the site for its entries."""
        return str(obj.site_id)

    def get_readonly_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        # Documents and ledger entries name a site by its number: it never changes.
        return ["site_id"] if obj else []


_HISTORY_FIELDS: list[Any] = [
    "training_acknowledged_at",
    "policy_acknowledged_at",
    "second_factor_since",
    "password_changed_at",
    "last_login",
    "date_joined",
]


# These fields are changed by other actions, possibly while the form is open.
_NOT_IN_FORM = [
    "password",
    "identity_evidence",
    "identity_verified_at",
    "link_issued_at",
    "second_factor_since",
    "signing_suspended_at",
]


@admin.register(User)
class PersonAdmin(AccountActionsMixin, UndeletableAdmin, LedgerAdminMixin, UserAdmin):
    """Accounts cannot be deleted or renamed, because the ledger names them. Deactivate them."""

    list_display = [
        "username",
        "printed_name",
        "email",
        "roles",
        "is_active",
        "sign_in",
        "last_login",
    ]
    actions = ["unlock", "send_link", "reset_second_factor", "train_again"]
    form, add_form = PersonForm, NewPersonForm
    list_filter = ["is_active", "is_staff", "is_superuser", "groups"]
    search_fields = ["username", "printed_name", "email"]
    inlines = [SitesInline]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username"]}),
        (_("Person"), {"fields": ["printed_name", "email"]}),
        (_("Permissions"), {"fields": ["is_active", "is_staff", "is_superuser", "groups"]}),
        (_("Period of access"), {"fields": ["access_from", "access_until"]}),
        (
            _("Identity"),
            {"fields": ["identity_evidence", "identity_verified_at", "signing_suspended_at"]},
        ),
        (_("History"), {"fields": _HISTORY_FIELDS}),
    ]
    add_fieldsets = [(None, {"fields": ["username", "printed_name", "email"]})]
    # Set by recorded actions. Identities are verified at /approvals/.
    readonly_fields = [
        "identity_evidence",
        "identity_verified_at",
        "signing_suspended_at",
        *_HISTORY_FIELDS,
    ]

    def ledger_site(self, obj: Any) -> str:
        """Return the number of the person's site, or "" if they have several or none."""
        # An entry belongs to one site or to none.
        sites = Site.objects.filter(memberships__user=obj)
        numbers = list(sites.values_list("site_id", flat=True)[:2])
        return numbers[0] if len(numbers) == 1 else ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return annotate_lockouts(super().get_queryset(request).prefetch_related("groups"))

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        return [*self.readonly_fields, *(["username"] if obj else [])]

    def get_urls(self) -> list[Any]:
        # Nobody can set the password of another person.
        return [url for url in super().get_urls() if url.name != "auth_user_password_change"]

    def get_retention_reason(self, obj: Any) -> str:
        """Return why accounts cannot be deleted, and what to do instead."""
        return gettext(
            "Accounts cannot be deleted, because entries and signatures name their people. "
            "Deactivate the account instead."
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        causes = find_causes(form, is_new=not change)
        old_address = ""
        if change:
            row = obj.lock(obj.pk)
            old_address = row.email
            for name in _NOT_IN_FORM:
                setattr(obj, name, getattr(row, name))
        else:
            password_changes.issue_link(obj)
        if causes:
            obj.signing_suspended_at = obj.signing_suspended_at or timezone.now()
        super().save_model(request, obj, form, change)
        for cause in causes:
            self.require_verification(request, obj, cause, old_address=old_address)
        if Cause.CREATED in causes:
            self.send_password_link(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("roles"))
    def roles(self, person: User) -> str:
        """Return the names of the person's roles, separated by commas."""
        if person.is_superuser:
            return gettext("Administrator")
        return ", ".join(group.name for group in person.groups.all())


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdminMixin, admin.ModelAdmin):
    """A read-only list of memberships. They are edited, and recorded, on the page of the person."""

    list_display = ["user", "site"]
    list_filter = ["site"]
    list_select_related = ["user", "site"]
    search_fields = ["user__username", "user__printed_name", "site__site_id"]
    actions = None
