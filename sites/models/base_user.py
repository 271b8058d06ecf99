"""What an account says of its person: who they are, from when to when, and how they sign in.

Abstract: `sites.models.User` is the table. Days are days of UTC.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from sites.roles import (
    ADMINISTRATORS,
    AUDITORS,
    COORDINATORS,
    QA_LEADS,
    QA_REVIEWERS,
)

# What QA does. An administrator makes the accounts that may do it, and so never does it, also not
# by a role of QA; nor does a person whose signing is suspended (R23).
QA_PERMISSIONS = frozenset(
    {
        "ingestion.review_document",
        "ingestion.override_document",
        "ingestion.add_waiver",
        "ingestion.change_waiver",
        "audit.add_auditreview",
    }
)
QA_ROLES = frozenset({QA_LEADS, QA_REVIEWERS})


class NameIsKept(Exception):
    """People are never deleted and never renamed: the ledger names them. Deactivate the account."""


class BaseUser(AbstractUser):
    identity_evidence = models.TextField(
        _("how the identity was verified"),
        blank=True,
        max_length=1000,
        help_text=_(
            "The identity document that an administrator saw, where and when. Required "
            "before a person can sign (21 CFR 11.100(b))."
        ),
    )
    training_acknowledged_at = models.DateTimeField(null=True, blank=True)
    password_changed_at = models.DateTimeField(null=True, blank=True)
    password_is_temporary = models.BooleanField(
        _("must choose a new password"), default=False, editable=False
    )
    second_step_since = models.DateTimeField(
        _("multi-factor authentication since"), null=True, blank=True
    )
    link_issued_at = models.DateTimeField(
        _("password link issued"), null=True, blank=True, editable=False
    )  # null: no link is out, or it has been used
    signing_suspended_at = models.DateTimeField(
        _("signing suspended since"), null=True, blank=True, editable=False
    )
    session_marks = models.JSONField(default=list, editable=False)  # of those that may go on
    access_from = models.DateField(
        null=True, blank=True, help_text=_("The first day (UTC). If empty, access starts at once.")
    )
    access_until = models.DateField(
        null=True, blank=True, help_text=_("The last day (UTC). Required for auditors.")
    )

    class Meta(AbstractUser.Meta):
        abstract = True

    @classmethod
    def from_db(cls, *args: Any, **options: Any) -> Self:
        person = super().from_db(*args, **options)
        vars(person)["_name_on_record"] = vars(person).get("username")
        return person

    def save(self, *args: Any, **options: Any) -> None:
        if self.username != (vars(self).get("_name_on_record") or self.username):
            raise NameIsKept(NameIsKept.__doc__)
        if not self._state.adding and options.get("update_fields") is None and not args:
            # Whoever read the row before somebody signed in does not write back what was then.
            names = {field.name for field in self._meta.concrete_fields if not field.primary_key}
            options["update_fields"] = names - self.get_deferred_fields() - {"session_marks"}
        super().save(*args, **options)
        vars(self)["_name_on_record"] = self.username

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        raise NameIsKept(NameIsKept.__doc__)

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """As Django says, but without the permissions of QA for administrators."""
        if perm in QA_PERMISSIONS and (self.is_superuser or self.signing_suspended_at):
            return False
        return super().has_perm(perm, obj)

    @property
    def has_role_conflict(self) -> bool:
        """Whether an administrator also holds a role of QA."""
        return self.is_superuser and not QA_ROLES.isdisjoint(self.roles)

    @property
    def roles(self) -> list[str]:
        """The names of the person's groups, and of what needs no group. One query."""
        named = [group.name for group in self.groups.all()]
        if self.is_superuser:
            named.append(ADMINISTRATORS)
        if not self.is_staff:
            named.append(COORDINATORS)
        return sorted(named)

    @property
    def is_auditor(self) -> bool:
        """Reads and changes nothing, whatever else the account may do (R34)."""
        return self.is_staff and AUDITORS in self.roles  # without a query for the others

    def has_access(self, at: datetime | None = None) -> bool:
        """Within the days of the account."""
        day = (at or timezone.now()).astimezone(UTC).date()
        has_begun = self.access_from is None or self.access_from <= day
        return has_begun and (self.access_until is None or day <= self.access_until)

    @property
    def needs_second_step(self) -> bool:
        """By their role (R21)."""
        required = set(settings.OTP_REQUIRED_ROLES)
        return bool(required) and not required.isdisjoint(self.roles)

    def must_change_password(self, at: datetime | None = None) -> bool:
        """Somebody else chose it, or it is older than PASSWORD_DAYS (11.300(b))."""
        if self.password_is_temporary:
            return True
        since = self.password_changed_at or self.date_joined
        days = settings.PASSWORD_DAYS
        return bool(days) and (at or timezone.now()) - since > timedelta(days=days)
