"""Stores the accounts of people, and selects the rows that each person can see."""

from typing import Any, ClassVar

from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import UserManager
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from audit.ledger.actors import PERSON, Actor
from audit.ledger.recorded_row import RecordedRow
from sites import account_changes
from sites.models.base_user import BaseUser
from sites.roles import ADMINISTRATORS, AUDITORS, COORDINATORS, NAMES, NO_ROLE, list_role_names


class PeopleManager(UserManager["User"]):
    """Records the creation of accounts, even by `createsuperuser` and in a shell."""

    def create_user(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> "User":
        """Create an account, and record it in the ledger."""
        person = self.model(username=username)
        with account_changes.record_changes(person):
            person.pk = super().create_user(username, email, password, **fields).pk
            person.refresh_from_db()
        return person

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> "User":
        """Create an account of an administrator, and record it in the ledger."""
        person = self.model(username=username)
        with account_changes.record_changes(person):
            person.pk = super().create_superuser(username, email, password, **fields).pk
            person.refresh_from_db()
        return person


class User(RecordedRow, BaseUser):
    """An account. It is never deleted or renamed, because entries and signatures name it (R18)."""

    printed_name = models.CharField(
        max_length=150, blank=True, help_text=_("The name in electronic signatures.")
    )
    identity_verified_at = models.DateTimeField(null=True, blank=True)
    policy_acknowledged_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[PeopleManager] = PeopleManager()

    class Meta:
        verbose_name = _("user")
        permissions = [("review_user", "Can sign the review of accounts")]
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="a_user_name_is_never_used_again",
                violation_error_message=_(
                    "This user name is in use or was used before. User names cannot be used again, "
                    "in upper or lower case. Choose another one."
                ),
            )
        ]

    def __str__(self) -> str:
        return self.printed_name or self.get_full_name() or self.username

    def check_password(self, raw_password: str | None) -> bool:
        """Return whether the password is correct. An outdated hash is renewed and recorded."""

        def renew(password: str) -> None:
            with account_changes.record_own_changes(self) as row:
                row.set_password(password)
            self.password, self.revision = row.password, row.revision

        return check_password(raw_password, self.password, renew)

    @property
    def actor(self) -> Actor:
        """Return the actor of what this person does, with all roles that they act as."""
        return Actor.person(self.pk, self.role)

    @property
    def actor_name(self) -> str:
        """Return the name of `actor`, without the queries that the roles need.

        It equals `subject`. The printed name of a person is in the details of entries only.
        """
        return f"{PERSON}{self.pk}"

    def actor_with(self, permission: str) -> Actor:
        """Return the actor of what this person does by `permission` ("app.codename")."""
        return Actor.person(self.pk, self.role_with(permission))

    @property
    def sees_all_sites(self) -> bool:
        """Return whether the person is staff with a role that permits it. Staff alone may not."""
        return self.is_staff and self.has_perm("clinical_sites.view_site")

    @property
    def role(self) -> str:
        """Return all roles of the person, in the terms of the ledger.

        An auditor has no other role, whatever other groups the account has.
        """
        groups = self.roles if self.is_staff or self.is_superuser else [COORDINATORS]
        if self.is_staff and AUDITORS in groups:
            return NAMES[AUDITORS]
        return ", ".join(list_role_names(groups)) or NO_ROLE

    def role_with(self, permission: str) -> str:
        """Return the role that gives the person the permission ("app.codename").

        If several roles give it, the first one in the order of `sites.roles` is returned, and
        `role` if none does.
        """
        app, codename = permission.split(".")
        groups = self.groups.filter(
            permissions__content_type__app_label=app, permissions__codename=codename
        )
        held = [group for group in groups.values_list("name", flat=True) if group in self.roles]
        if self.is_superuser and not held:
            held = [ADMINISTRATORS]
        return next(iter(list_role_names(held)), self.role)


class FailedSignIns(models.Model):
    """Failed sign-ins of one name from one address in one minute, recorded after that minute.

    If each failure were recorded at once, anybody on the network could make the ledger grow.
    """

    minute = models.DateTimeField()
    name = models.CharField(max_length=150)  # the user name as it was typed
    address = models.CharField(max_length=45)
    count = models.PositiveIntegerField(default=1)
    locked_until = models.DateTimeField(null=True)  # set if the failures caused a lockout

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["minute", "name", "address"], name="failures_are_counted_together"
            )
        ]

    def __str__(self) -> str:
        return f"{self.count} of {self.name} from {self.address}"


def make_visibility_filter(user: User, to_site: str = "") -> Q:
    """Return a filter for the rows that a person can see (R15).

    Staff with a role see all rows, other people those of their sites. `to_site` is the lookup from
    a row to its site, such as "site" or "packet__site". All querysets for people use this filter.
    """
    if user.sees_all_sites:
        return Q()
    return Q(**{f"{to_site}__memberships__user" if to_site else "memberships__user": user})
