"""Defines the abstract base of accounts: identity, period of access, and sign-in.

`sites.models.User` is the table. Dates are in UTC.
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

# The permissions of QA. Administrators create the accounts that have them, and therefore never have
# them, even with a QA role. A person whose signing is suspended does not have them either (R23).
QA_PERMISSIONS = frozenset(
    {
        "ingestion.review_document",
        "ingestion.override_document",
        "ingestion.sign_assessment",
        "ingestion.activate_learnedmodel",
        "ingestion.add_waiver",
        "ingestion.change_waiver",
        "audit.add_auditreview",
    }
)
QA_ROLES = frozenset({QA_LEADS, QA_REVIEWERS})


_MUST_NOT_CHANGE = (
    "Accounts cannot be deleted or renamed, because the ledger names them. Deactivate the account."
)


class AccountIsPermanent(Exception):
    """An account cannot be deleted or renamed, because the ledger names it."""


class BaseUser(AbstractUser):
    """Defines an account that cannot be deleted or renamed, with its identity and its access."""

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
    second_factor_since = models.DateTimeField(
        _("multi-factor authentication since"), null=True, blank=True, db_column="second_step_since"
    )
    link_issued_at = models.DateTimeField(
        _("password link issued"), null=True, blank=True, editable=False
    )  # null: no link was issued, or it has been used
    signing_suspended_at = models.DateTimeField(
        _("signing suspended since"), null=True, blank=True, editable=False
    )
    session_marks = models.JSONField(default=list, editable=False)  # of the valid sessions
    access_from = models.DateField(
        null=True, blank=True, help_text=_("The first day (UTC). If empty, access starts at once.")
    )
    access_until = models.DateField(
        null=True, blank=True, help_text=_("The last day (UTC). Required for auditors.")
    )

    class Meta(AbstractUser.Meta):
        abstract = True

    # The user name in the database. None: the account is not saved yet, or the name was not read.
    saved_username: str | None = None

    @classmethod
    def from_db(cls, *args: Any, **options: Any) -> Self:
        person = super().from_db(*args, **options)
        if "username" not in person.get_deferred_fields():
            person.saved_username = person.username
        return person

    def save(self, *args: Any, **options: Any) -> None:
        """Save the account, except the marks of its sessions if it exists.

        Raises AccountIsPermanent if its user name was changed.
        """
        if self.saved_username not in {None, self.username}:
            raise AccountIsPermanent(_MUST_NOT_CHANGE)
        if not self._state.adding and options.get("update_fields") is None and not args:
            # Sessions may have begun since the row was read. Do not overwrite their marks.
            names = {field.name for field in self._meta.concrete_fields if not field.primary_key}
            options["update_fields"] = names - self.get_deferred_fields() - {"session_marks"}
        super().save(*args, **options)
        self.saved_username = self.username

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Raise AccountIsPermanent."""
        raise AccountIsPermanent(_MUST_NOT_CHANGE)

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Return Django's answer, except that administrators never have the permissions of QA."""
        if perm in QA_PERMISSIONS and (self.is_superuser or self.signing_suspended_at):
            return False
        return super().has_perm(perm, obj)

    @property
    def has_role_conflict(self) -> bool:
        """Return whether the person is an administrator and also has a QA role."""
        return self.is_superuser and not QA_ROLES.isdisjoint(self.roles)

    @property
    def roles(self) -> list[str]:
        """Return the names of the person's groups, and of the roles without a group. One query."""
        names = [group.name for group in self.groups.all()]
        if self.is_superuser:
            names.append(ADMINISTRATORS)
        if not self.is_staff:
            names.append(COORDINATORS)
        return sorted(names)

    @property
    def is_auditor(self) -> bool:
        """Return whether the account is read-only, whatever other roles it has (R34)."""
        return self.is_staff and AUDITORS in self.roles  # no query for people who are not staff

    def has_access(self, at: datetime | None = None) -> bool:
        """Return whether a time, by default now, is within the period of access."""
        day = (at or timezone.now()).astimezone(UTC).date()
        has_begun = self.access_from is None or self.access_from <= day
        return has_begun and (self.access_until is None or day <= self.access_until)

    @property
    def needs_second_factor(self) -> bool:
        """Return whether a role of the person requires multi-factor authentication (R21)."""
        required = set(settings.OTP_REQUIRED_ROLES)
        return bool(required) and not required.isdisjoint(self.roles)

    def must_change_password(self, at: datetime | None = None) -> bool:
        """Return whether the password is temporary, or older than PASSWORD_DAYS (11.300(b))."""
        if self.password_is_temporary:
            return True
        since = self.password_changed_at or self.date_joined
        days = settings.PASSWORD_DAYS
        return bool(days) and (at or timezone.now()) - since > timedelta(days=days)
