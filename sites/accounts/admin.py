"""Provides administrators' actions on accounts, recorded with a reason (R18, R19, R21)."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.forms import UserChangeForm, UsernameField
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.audited_admin import LedgerAdminMixin
from audit.change_tracking.change_reasons import REASON_FIELD
from audit.change_tracking.field_changes import SECRET
from sites import account_notices
from sites.accounts import (
    identity,
    lockout,
    password_changes,
    second_factor,
)
from sites.accounts.identity import Cause
from sites.models import User
from sites.models.base_user import QA_ROLES
from sites.models.usage_counters import Tries
from sites.roles import AUDITORS

if TYPE_CHECKING:
    _Base = LedgerAdminMixin
else:
    _Base = object


class PersonForm(UserChangeForm):
    """Checks the period of access, and the separation of administration and QA."""

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        since, until = data.get("access_from"), data.get("access_until")
        if since and until and until < since:
            self.add_error(
                "access_until", _("The last day is before the first day. Correct one of them.")
            )
        roles = {group.name for group in data.get("groups") or ()}
        if AUDITORS in roles:
            self._check_auditor(data)
        if data.get("is_superuser") and not QA_ROLES.isdisjoint(roles):
            conflict = gettext(
                "An administrator cannot have a QA role, because one person would then create "
                "accounts and decide about documents. Select one of the two."
            )
            self.add_error("groups", forms.ValidationError(conflict, code="role_conflict"))
        return data

    def _check_auditor(self, data: dict[str, Any]) -> None:
        if data.get("access_until") is None:
            no_end = gettext("Enter the last day of access. The access of auditors is limited.")
            self.add_error("access_until", forms.ValidationError(no_end, code="required"))
        if not data.get("is_staff"):
            not_staff = gettext(
                "Select staff status. Auditors need it to read the records of all sites."
            )
            self.add_error("is_staff", forms.ValidationError(not_staff, code="required"))


class NewPersonForm(forms.ModelForm):
    """Creates an account without a password. Its person chooses one with a link."""

    class Meta:
        model = User
        fields = ["username", "printed_name", "email"]
        field_classes = {"username": UsernameField}

    def save(self, commit: bool = True) -> Any:
        self.instance.set_unusable_password()
        return super().save(commit)


# Changes that let another person sign with the account, or let it sign with another name.
_CAUSES = {
    "email": Cause.EMAIL,
    "printed_name": Cause.NAME,
    "is_superuser": Cause.ADMINISTRATOR,
}


def find_causes(form: Any, *, is_new: bool) -> list[Cause]:
    """Return why the identity has to be verified after this form is saved."""
    if is_new:
        return [Cause.CREATED]
    return [
        cause
        for name, cause in _CAUSES.items()
        if name in form.changed_data and (name != "is_superuser" or form.instance.is_superuser)
    ]


class AccountActionsMixin(_Base):
    """Actions for the ModelAdmin of people."""

    def require_verification(
        self, request: HttpRequest, person: User, cause: Cause, *, old_address: str = ""
    ) -> None:
        """Request the verification of the identity by another administrator, and notify the person.

        `signing_suspended_at` has to be saved before. Call this inside `ledger()`.
        """
        by: Any = request.user
        identity.request_verification(
            person, cause, by=by, reason=request.POST.get(REASON_FIELD, "").strip()
        )
        if cause is Cause.CREATED:
            return
        for address in dict.fromkeys([old_address or person.email, person.email]):
            identity.notify_person(person, cause, by=str(by), to=address)
        self.message_user(
            request,
            gettext(
                "{person} cannot sign until another administrator has verified the identity."
            ).format(person=person),
            messages.WARNING,
        )

    def send_password_link(self, request: HttpRequest, person: User) -> None:
        """Queue an email with a link, or explain how the person can get one otherwise.

        Call this inside `ledger()`.
        """
        text = gettext("{person} asks you to choose a password for your account {username}.")
        text = text.format(person=request.user, username=person.username)
        about = gettext("Choose your password")
        if account_notices.write(person, about, text, has_link=True):
            sent = gettext("A link to choose a password is sent to {address}.")
            self.message_user(request, sent.format(address=person.email))
            return
        missing = gettext(
            "{person} has no email address. The system administrator can print the link with "
            "manage.py account_link {username}."
        )
        if not account_notices.is_mail_on():
            missing = gettext(
                "No email is sent to {person}, because SITE_URL or EMAIL_HOST is not set. The "
                "system administrator can print the link with manage.py account_link {username}."
            )
        sentence = missing.format(person=person, username=person.username)
        self.message_user(request, sentence, messages.WARNING)

    @admin.action(description=_("Send password link"), permissions=["change"])
    def send_link(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Send each selected person a link for a new password, except the administrator.

        The signing of the account is suspended until the identity is verified again.
        """
        for person in people.select_for_update():
            if person == request.user:
                own = gettext("Change your own password on your account page.")
                self.message_user(request, own, messages.ERROR)
                continue
            before = {name: getattr(person, name) for name in _LINK_FIELDS}
            password_changes.issue_link(person)
            person.save(update_fields=_LINK_FIELDS)
            changes = {
                name: {"old": _as_text(old), "new": _as_text(getattr(person, name))}
                for name, old in before.items()
                if old != getattr(person, name)
            }
            self.record_change(request, person, changes)
            self.require_verification(request, person, Cause.PASSWORD)
            self.send_password_link(request, person)

    @admin.action(description=_("Unlock sign-in"), permissions=["change"])
    def unlock(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """End the lockouts of the selected accounts, and forget their failed attempts (R19)."""
        locks = lockout.find_lockouts()
        for person in people:
            if lockout.clear_all_failures(person):
                until = locks.get(person.pk)
                change = {"old": str(until) if until else "counted failures", "new": None}
                self.record_change(request, person, {"locked_until": change})
        self.message_user(request, _("The selected accounts are unlocked."))

    @admin.action(description=_("Reset multi-factor authentication"), permissions=["change"])
    def reset_second_factor(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Remove the second factor of the selected accounts.

        Their signing is suspended until the identity is verified again (R21, R23).
        """
        for person in people.select_for_update():
            old, suspended = person.second_factor_since, person.signing_suspended_at
            if not second_factor.reset(person):
                continue
            person.second_factor_since = None
            person.signing_suspended_at = suspended or timezone.now()
            person.save(update_fields=["second_factor_since", "signing_suspended_at"])
            changes = {
                "second_factor_since": {"old": str(old), "new": None},
                "key": {"old": SECRET, "new": None},
            }
            if not suspended:
                since = {"old": None, "new": str(person.signing_suspended_at)}
                changes["signing_suspended_at"] = since
            self.record_change(request, person, changes)
            self.require_verification(request, person, Cause.SECOND_FACTOR)
        self.message_user(
            request,
            _("Multi-factor authentication was reset. The selected people can set it up again."),
        )

    @admin.action(description=_("Request training again"), permissions=["change"])
    def train_again(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Require the selected people to confirm their training again.

        They can neither upload nor sign until then (R36).
        """
        for person in people.select_for_update().exclude(training_acknowledged_at=None):
            old, person.training_acknowledged_at = person.training_acknowledged_at, None
            person.save(update_fields=["training_acknowledged_at"])
            change = {"old": str(old), "new": None}
            self.record_change(request, person, {"training_acknowledged_at": change})
        self.message_user(
            request,
            _(
                "Training was requested again. The selected people cannot upload or sign "
                "until they confirm it."
            ),
        )

    @admin.display(description=_("sign-in"))
    def sign_in(self, person: Any) -> str:
        """Return the states of the account that concern sign-in, in words."""
        states = [gettext("Locked")] if person.is_locked_out else []
        if person.signing_suspended_at:
            states.append(gettext("Signing suspended"))
        if person.second_factor_since:
            states.append(gettext("Multi-factor"))
        return ", ".join(states) or "-"


_LINK_FIELDS = ["link_issued_at", "signing_suspended_at"]


def _as_text(value: object) -> str | None:
    return None if value is None else str(value)


def annotate_lockouts(people: QuerySet[User]) -> QuerySet[User]:
    """Add the annotation `is_locked_out`."""
    now = timezone.now()
    lockouts = Tries.objects.filter(user=OuterRef("pk"), is_locked=True, ends_at__gt=now)
    return people.annotate(is_locked_out=Exists(lockouts))
