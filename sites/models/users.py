"""Accounts of people, and what each of them may see."""

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
from sites.roles import ADMINISTRATORS, AUDITORS, COORDINATORS, NAMES, NO_ROLE, named


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


class User(RecordedRow, BaseUser):
    """A person. Never deleted and never renamed: the ledger and signatures name them (R18)."""

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
        """Whether it is theirs. A hash of an outdated kind is renewed, on record."""

        def renew(password: str) -> None:
            with account_changes.by_themselves(self) as row:
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


def within_reach(user: User, to_site: str = "") -> Q:
    """What a person may see: staff in a role all, others what is of the sites they belong to (R15).

    `to_site` is the way from a row to its site, as "site" or "packet__site". Every queryset of
    what people see goes through here.
    """
    if user.sees_all_sites:
        return Q()
    return Q(**{f"{to_site}__memberships__user" if to_site else "memberships__user": user})
