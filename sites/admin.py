"""Studies, sites, portals and people in the admin. Every change is an entry in the ledger."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse

from audit.log import ledger
from audit.tracked import SECRET, LedgerAdminMixin
from sites.models import Membership, Portal, Site, Study, User

# Roles are code (ingestion.roles): a group edited here would be put back by the next migration.
admin.site.unregister(Group)


class MembersInline(admin.TabularInline):
    """Who belongs to a site. Edited on the person's page."""

    model = Membership
    verbose_name_plural = "people of this site"
    extra = 0
    can_delete = False
    fields = ["user"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SitesInline(admin.StackedInline):
    """Stacked: the inputs of a tabular inline have no labels (Django ticket 36509)."""

    model = Membership
    verbose_name = "site"
    verbose_name_plural = "sites this person works for"
    extra = 0


@admin.register(Study)
class StudyAdmin(LedgerAdminMixin, admin.ModelAdmin):
    list_display = ["protocol_number", "title", "site_count"]
    search_fields = ["protocol_number", "title"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        studies: QuerySet[Study] = super().get_queryset(request)
        return studies.annotate(number_of_sites=Count("sites"))

    @admin.display(description="sites", ordering="number_of_sites")
    def site_count(self, study: Any) -> int:
        return int(study.number_of_sites)


@admin.register(Portal)
class PortalAdmin(LedgerAdminMixin, admin.ModelAdmin):
    list_display = [
        "key",
        "base_url",
        "rate_per_second",
        "burst",
        "max_in_flight",
        "timeout_seconds",
    ]
    list_filter = ["allow_http", "allow_private_hosts"]
    search_fields = ["key", "base_url"]
    fieldsets = [
        (None, {"fields": ["key", "base_url", "allowed_hosts", "secret_header"]}),
        (
            "How fast it may be asked",
            {"fields": ["rate_per_second", "burst", "max_in_flight", "timeout_seconds"]},
        ),
        ("Exceptions", {"fields": ["allow_http", "allow_private_hosts"]}),
    ]


@admin.register(Site)
class SiteAdmin(LedgerAdminMixin, admin.ModelAdmin):
    list_display = ["site_id", "name", "country", "study", "portal"]
    list_filter = ["country", "study"]
    list_select_related = ["study", "portal"]
    search_fields = ["site_id", "name"]
    search_help_text = "A site number or name, or part of one."
    inlines = [MembersInline]

    def ledger_site(self, obj: Any) -> str:
        return str(obj.site_id)

    def get_readonly_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        # Documents and ledger entries name a site by its number: it never changes.
        return ["site_id"] if obj else []


@admin.register(User)
class PersonAdmin(LedgerAdminMixin, UserAdmin):
    """People are never deleted and never renamed: the ledger names them. They are deactivated."""

    list_display = [
        "username",
        "printed_name",
        "email",
        "roles",
        "is_staff",
        "is_active",
        "last_login",
    ]
    list_filter = ["is_active", "is_staff", "is_superuser", "groups"]
    search_fields = ["username", "printed_name", "email"]
    inlines = [SitesInline]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Person", {"fields": ["printed_name", "email"]}),
        ("May do", {"fields": ["is_active", "is_staff", "is_superuser", "groups"]}),
        (
            "On record",
            {
                "fields": [
                    "identity_verified_at",
                    "policy_acknowledged_at",
                    "last_login",
                    "date_joined",
                ]
            },
        ),
    ]
    add_fieldsets = [
        (
            None,
            {
                "fields": [
                    "username",
                    "printed_name",
                    "email",
                    "usable_password",
                    "password1",
                    "password2",
                ]
            },
        )
    ]
    # Stock date inputs have no labels (Django ticket 36203), and nobody sets these by hand.
    readonly_fields = [
        "identity_verified_at",
        "policy_acknowledged_at",
        "last_login",
        "date_joined",
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        fixed = ["username"] if obj else []
        return [*self.readonly_fields, *fixed]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - Django's own name
        form_url: str = "",
    ) -> HttpResponse:
        """The one view of UserAdmin that the mixin does not know."""
        if request.method != "POST":
            return super().user_change_password(request, id, form_url)
        with ledger():
            before = User.objects.filter(pk=id).values_list("password", flat=True).first()
            response = super().user_change_password(request, id, form_url)
            person = User.objects.get(pk=id)
            if person.password != before:
                self.record_change(request, person, {"password": {"old": SECRET, "new": SECRET}})
        return response

    @admin.display(description="roles")
    def roles(self, person: User) -> str:
        if person.is_superuser:
            return "Administrator"
        return ", ".join(group.name for group in person.groups.all())


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):
    """For looking up who works where. Edited on the person's page, and so on their record."""

    list_display = ["user", "site"]
    list_filter = ["site"]
    list_select_related = ["user", "site"]
    search_fields = ["user__username", "user__printed_name", "site__site_id"]
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
