"""People, studies, sites and their portals. Membership decides what a person sees."""

from datetime import date
from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import UserManager
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Lower, Replace, Upper

from sites import account_changes
from sites.account_notices import AccountNotice
from sites.api_tokens import TOKEN_LIFE, ApiToken, Scope, in_a_year
from sites.approval_requests import ApprovalRequest
from sites.counts import PageViews, Tries
from sites.holds import LegalHold
from sites.person import Person
from sites.roles import ADMINISTRATORS, AUDITORS, COORDINATORS, NAMES, NO_ROLE, named

# Django looks for models here.
__all__ = [
    "TOKEN_LIFE",
    "AccountNotice",
    "ApiToken",
    "ApprovalRequest",
    "LegalHold",
    "PageViews",
    "Scope",
    "Tries",
    "in_a_year",
]


class PeopleManager(UserManager["User"]):
    """Accounts are made on record, also by `createsuperuser` and in a shell."""

    def create_user(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> "User":
        person = self.model(username=username)
        with account_changes.on_record(person):
            person.pk = super().create_user(username, email, password, **fields).pk
            person.refresh_from_db()
        return person

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> "User":
        person = self.model(username=username)
        with account_changes.on_record(person):
            person.pk = super().create_superuser(username, email, password, **fields).pk
            person.refresh_from_db()
        return person


class User(Person):
    """A person. Never deleted and never renamed: the ledger and signatures name them (R18)."""

    printed_name = models.CharField(max_length=150, blank=True, help_text="As it is signed.")
    identity_verified_at = models.DateTimeField(null=True, blank=True)
    policy_acknowledged_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=0, editable=False)

    objects: ClassVar[PeopleManager] = PeopleManager()

    class Meta:
        verbose_name = "user"
        permissions = [("review_user", "Can sign the review of accounts")]
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="a_user_name_is_never_used_again",
                violation_error_message="This user name is taken, or was used before: "
                "names are never used again, in capitals or not. Choose another.",
            )
        ]

    def __str__(self) -> str:
        return self.printed_name or self.get_full_name() or self.username

    def check_password(self, raw_password: str | None) -> bool:
        """Whether it is theirs. A hash of an outdated kind is renewed, on record."""

        def renew(password: str) -> None:
            with account_changes.by_themselves(self) as row:
                row.set_password(password)
            self.password, self.revision = row.password, row.revision

        return check_password(raw_password, self.password, renew)

    @property
    def actor(self) -> str:
        """How the ledger names this person; the printed name stays in the detail."""
        return f"user:{self.pk}"

    @property
    def sees_all_sites(self) -> bool:
        """Staff in a role that says so. Being staff alone opens the admin's door, and no record."""
        return self.is_staff and self.has_perm("clinical_sites.view_site")

    @property
    def role(self) -> str:
        """All roles that the person acts as, in the words of the ledger.

        An auditor is nothing else, whatever other groups the account has.
        """
        groups = self.roles if self.is_staff or self.is_superuser else [COORDINATORS]
        if self.is_staff and AUDITORS in groups:
            return NAMES[AUDITORS]
        return ", ".join(named(groups)) or NO_ROLE

    def role_with(self, permission: str) -> str:
        """The role by which the person holds `permission` ("app.codename"); `role` where none does.

        Of several roles that give it, the first in the order of `sites.roles`.
        """
        app, codename = permission.split(".")
        giving = self.groups.filter(
            permissions__content_type__app_label=app, permissions__codename=codename
        )
        held = [group for group in giving.values_list("name", flat=True) if group in self.roles]
        if self.is_superuser and not held:
            held = [ADMINISTRATORS]
        return next(iter(named(held)), self.role)


class FailedSignIns(models.Model):
    """How often one name failed from one address in one minute: entered once that is over.

    In the ledger at once, everybody on the network could make its chain grow (decision 25).
    """

    minute = models.DateTimeField()
    name = models.CharField(max_length=150)  # as it was typed
    address = models.CharField(max_length=45)
    count = models.PositiveIntegerField(default=1)
    locked_until = models.DateTimeField(null=True)  # one of them was one too many

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["minute", "name", "address"], name="failures_are_counted_together"
            )
        ]

    def __str__(self) -> str:
        return f"{self.count} of {self.name} from {self.address}"


version_number = RegexValidator(
    r"^([vV]?\d+(\.\d+)*)?$", "A version as it is numbered on the protocol: 3.0 or v3."
)


class Study(models.Model):
    protocol_number = models.CharField(max_length=60, unique=True)
    protocol_version = models.CharField(
        max_length=40,
        blank=True,
        validators=[version_number],
        help_text="The current one. Approvals and signed protocol pages have to name it; "
        "left empty, their versions are not compared.",
    )
    title = models.CharField(max_length=300, blank=True)
    ended_on = models.DateField(
        "end of the trial",
        null=True,
        blank=True,
        help_text="In all countries. Its documents are kept for years from this day; "
        "empty, it has not ended.",
    )
    retention_years = models.PositiveSmallIntegerField(
        "years to keep it",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="From the end of the trial. Empty: as everywhere here (RETENTION_YEARS).",
    )
    revision = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["protocol_number"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.protocol_number

    @property
    def years_kept(self) -> int:
        years: int = self.retention_years or settings.RETENTION_YEARS
        return years

    @property
    def retained_until(self) -> date | None:
        """The last day for which its documents have to be there; None while it has not ended."""
        if self.ended_on is None:
            return None
        year = self.ended_on.year + self.years_kept
        try:
            return self.ended_on.replace(year=year)
        except ValueError:  # 29 February
            return date(year, 3, 1)


address_without_secrets = RegexValidator(
    r"^https?://[^\s/?#@]+([/?#]|$)",
    "An address without a name or password in it: secrets are references (PORTAL_SECRET_...).",
)
host_names = RegexValidator(
    r"^\s*([\w.-]+(:\d{1,5})?(\s+|$))*$",
    "One host on each line, as files.example.org or host:8443.",
)
# Not one of those that say what is asked for and how it comes: they are ours.
header_name = RegexValidator(
    r"(?i)^(?!(host|range|if-range|connection|content-.*|accept-.*|transfer-.*)$)"
    r"[a-z0-9!#$%&'*+.^_`|~-]+$",
    "The name of one header, as Authorization or X-Api-Key.",
)


class Portal(models.Model):
    """A host that sites' documents are fetched from. Bucket and cap belong to it (decision 11)."""

    key = models.SlugField(max_length=80, unique=True)
    base_url = models.URLField(max_length=500, validators=[address_without_secrets])
    allowed_hosts = models.TextField(
        blank=True,
        validators=[host_names],
        help_text="Further hosts that this portal may send us to, one on each line. "
        "They never see its secret.",
    )
    secret_header = models.CharField(
        max_length=100,
        default="Authorization",
        validators=[header_name],
        help_text="The header for this portal's secret. The secret itself is given to the workers "
        "as PORTAL_SECRET_ and the key, in capitals and with _ for -.",
    )
    rate_per_second = models.FloatField(default=1.0, validators=[MinValueValidator(0.001)])
    burst = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    max_in_flight = models.PositiveIntegerField(
        default=2,
        validators=[MinValueValidator(1)],
        help_text="Requests at a time of each worker process, not of all together.",
    )
    timeout_seconds = models.FloatField(default=30.0, validators=[MinValueValidator(0.1)])
    allow_http = models.BooleanField(default=False, help_text="Only for tests and closed networks.")
    allow_private_hosts = models.BooleanField(
        default=False, help_text="Let this portal be on a private or loopback address."
    )
    approved_origin = models.CharField(
        "approved scheme, host and port",
        max_length=300,
        blank=True,
        db_default="",
        editable=False,
        help_text="A second person approved that the portal is asked there, with its secret. "
        "Nothing is asked of another origin.",
    )
    revision = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["key"]
        constraints = [
            models.CheckConstraint(
                condition=Q(rate_per_second__gt=0), name="portal_rate_is_positive"
            ),
            models.CheckConstraint(condition=Q(burst__gte=1), name="portal_allows_at_least_one"),
            models.CheckConstraint(
                condition=Q(max_in_flight__gte=1), name="portal_serves_at_least_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(timeout_seconds__gt=0), name="portal_timeout_is_positive"
            ),
            # a-b and A_b would be one PORTAL_SECRET_A_B, and one would be shown the other's.
            models.UniqueConstraint(
                Upper(Replace("key", Value("-"), Value("_"))), name="portal_has_a_secret_of_its_own"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def clean(self) -> None:
        # As the roster writes it, so that the same list is no change.
        self.allowed_hosts = "\n".join(self.allowed_hosts.lower().split())


def within_reach(user: User, to_site: str = "") -> Q:
    """What a person may see: staff in a role all, others what is of the sites they belong to (R15).

    `to_site` is the way from a row to its site, as "site" or "packet__site". Every queryset of
    what people see goes through here.
    """
    if user.sees_all_sites:
        return Q()
    return Q(**{f"{to_site}__memberships__user" if to_site else "memberships__user": user})


class SiteQuerySet(models.QuerySet["Site"]):
    def visible_to(self, user: User) -> Self:
        return self.filter(within_reach(user))

    def of(self, user: User) -> Self:
        """The sites that a person works for, be they staff or not."""
        return self.filter(memberships__user=user)


class Site(models.Model):
    """A clinical site. `site_id` is unique per deployment (decision 12)."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="sites")
    portal = models.ForeignKey(Portal, on_delete=models.PROTECT, related_name="sites")
    site_id = models.CharField("site number", max_length=60, unique=True)
    name = models.CharField(max_length=200)
    country = models.CharField(max_length=100)
    activated_on = models.DateField(
        null=True,
        blank=True,
        help_text="The day on which it goes live. GCP certificates are judged on that day.",
    )
    revision = models.PositiveIntegerField(default=0, editable=False)

    objects = SiteQuerySet.as_manager()

    class Meta:
        ordering = ["site_id"]

    def __str__(self) -> str:
        return f"{self.site_id} · {self.name}, {self.country}"


class Membership(models.Model):
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="memberships")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "site"], name="a_person_joins_a_site_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.site.site_id}"
