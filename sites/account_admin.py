"""What administrators do for people's accounts: with a reason, and on record (R18, R19, R21)."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.forms import UserChangeForm
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from audit.changes import SECRET
from audit.tracked import LedgerAdminMixin
from sites import lockout, second_step
from sites.counts import Tries
from sites.models import User
from sites.roles import AUDITORS

if TYPE_CHECKING:
    _Base = LedgerAdminMixin
else:
    _Base = object


class PersonForm(UserChangeForm):  # type: ignore[type-arg] # generic for mypy alone
    """An auditor's account has an end, and what begins ends later."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "identity_evidence" in self.fields:
            self.fields["identity_evidence"].widget.attrs["rows"] = 3

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        since, until = given.get("access_from"), given.get("access_until")
        if since and until and until < since:
            self.add_error("access_until", "The last day lies before the first. Exchange the two.")
        groups = given.get("groups")
        if groups is not None and groups.filter(name=AUDITORS).exists():
            self._check_auditor(given)
        return given

    def _check_auditor(self, given: dict[str, Any]) -> None:
        if given.get("access_until") is None:
            said = "Say until when: an auditor's access ends by itself."
            self.add_error("access_until", forms.ValidationError(said, code="required"))
        if not given.get("is_staff"):
            said = "Auditors are staff: they see the records of all sites, and change none."
            self.add_error("is_staff", forms.ValidationError(said, code="required"))


class AccountKeeping(_Base):
    """For the ModelAdmin of people."""

    @admin.action(description="Unlock sign-in", permissions=["change"])
    def unlock(self, request: HttpRequest, people: QuerySet[User]) -> None:
        locks = lockout.locks()
        for person in people:
            if lockout.unlock(person):
                until = locks.get(person.pk)
                change = {"old": str(until) if until else "counted failures", "new": None}
                self.record_change(request, person, {"locked_until": change})
        self.message_user(request, "Unlocked: they can try to sign in again now.")

    @admin.action(description="Take away the code at sign-in", permissions=["change"])
    def reset_second_step(self, request: HttpRequest, people: QuerySet[User]) -> None:
        for person in people.select_for_update():
            old = person.second_step_since
            if not second_step.reset(person):
                continue
            person.second_step_since = None
            person.save(update_fields=["second_step_since"])
            changes = {
                "second_step_since": {"old": str(old), "new": None},
                "key": {"old": SECRET, "new": None},
            }
            self.record_change(request, person, changes)
        self.message_user(request, "The codes are taken away. They can set up new ones.")

    @admin.action(description="Ask for training again", permissions=["change"])
    def train_again(self, request: HttpRequest, people: QuerySet[User]) -> None:
        for person in people.select_for_update().exclude(training_acknowledged_at=None):
            old, person.training_acknowledged_at = person.training_acknowledged_at, None
            person.save(update_fields=["training_acknowledged_at"])
            change = {"old": str(old), "new": None}
            self.record_change(request, person, {"training_acknowledged_at": change})
        self.message_user(request, "Until they confirm it anew, they upload and sign nothing.")

    @admin.display(description="sign-in")
    def sign_in(self, person: Any) -> str:
        facts = ["Locked"] if person.is_locked_out else []
        if person.second_step_since:
            facts.append("With code")
        return ", ".join(facts) or "-"


def with_locks(people: QuerySet[User]) -> QuerySet[User]:
    """Each with `is_locked_out`."""
    now = timezone.now()
    held = Tries.objects.filter(user=OuterRef("pk"), is_locked=True, ends_at__gt=now)
    return people.annotate(is_locked_out=Exists(held))
