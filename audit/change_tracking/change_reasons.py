"""Requires a reason for every change, deletion and action in the admin (EU Annex 11, 9; R03).

This module defines the form field, and the mixin that requires it for the actions of a list.
`audit.change_tracking.audited_admin` requires it in forms and for deletions. The reason reaches the
entries through `audit.ledger.context`.
"""

import copy
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME as CHECKBOX
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.ledger.context import use_change_reason

REASON_FIELD = "reason_for_change"
# Spaces around the reason are not counted.
MIN_REASON_CHARACTERS = 10
MAX_REASON_CHARACTERS = 1_000
_LABEL = _("Reason for this change")


if TYPE_CHECKING:
    _Base = ModelAdmin[Any]  # generic for mypy only
else:
    _Base = ModelAdmin


def make_reason_field() -> forms.CharField:
    """Return a required form field for the reason of a change (EU Annex 11, 9)."""
    return forms.CharField(
        label=_LABEL,
        min_length=MIN_REASON_CHARACTERS,
        max_length=MAX_REASON_CHARACTERS,
        widget=AdminTextareaWidget(attrs={"rows": 2}),
        help_text=_("Recorded in the audit trail with the change."),
        error_messages={
            "required": _("Enter a reason for this change."),
            "min_length": _("Enter a reason of at least %(limit_value)d characters."),
        },
    )


def add_reason_field(form: type[Any]) -> type[Any]:
    """Return the same form with a field for the reason."""
    return type(form.__name__, (form,), {REASON_FIELD: make_reason_field()})


class ChangeReasonForm(forms.Form):
    """The form of the pages that ask for the confirmation of a deletion."""

    reason_for_change = make_reason_field()


class ReasonedActionForm(ActionForm):
    """The form of a list's actions, with the reason.

    The field is not required here, because Django would report that no action was selected.
    """

    reason_for_change = forms.CharField(
        label=format_lazy("{}:", _LABEL), required=False, widget=AdminTextInputWidget
    )


class ReasonedActions(_Base):
    """Requires a reason for the actions of a list. Their entries contain it."""

    action_form = ReasonedActionForm

    def ledger_site(self, obj: Any) -> str:
        """Return the site number that the entry states. Override it if the row has a site."""
        return ""

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Run the list and its actions with the reason that was entered beside the action."""
        with use_change_reason(request.POST.get(REASON_FIELD, "")):
            return super().changelist_view(request, *args, **options)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *location: Any
    ) -> HttpResponse | None:
        """Run an action only if a valid reason was entered."""
        form = ChangeReasonForm(request.POST)
        # If several actions are sent, Django takes the first.
        if request.POST.getlist("action") == ["delete_selected"]:
            return self._confirm_deletion(request, queryset, form)
        if not form.is_valid():
            sentence = gettext(
                "Nothing was changed. Enter a reason of at least {n} characters next to the action."
            )
            self.message_user(request, sentence.format(n=MIN_REASON_CHARACTERS), messages.ERROR)
            return None
        return super().response_action(request, queryset, *location)

    def _confirm_deletion(
        self, request: HttpRequest, queryset: QuerySet[Any], form: ChangeReasonForm
    ) -> HttpResponse | None:
        """Show the page that asks for the reason, until one is entered, and then delete."""
        is_confirmed = "post" in request.POST
        if is_confirmed and not form.is_valid():
            request = drop_confirmation(request, "action", "index", "select_across", CHECKBOX)
        response = super().response_action(request, queryset)
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            response.context_data["reason_form"] = (
                form if is_confirmed else ChangeReasonForm(initial=request.POST.dict())
            )
        return response


def drop_confirmation(request: HttpRequest, *kept: str) -> HttpRequest:
    """Return a copy of the request with these fields only, so that Django asks for confirmation."""
    sent = QueryDict(mutable=True)
    for name in kept:
        sent.setlist(name, request.POST.getlist(name))
    request = copy.copy(request)
    request.POST = sent  # type: ignore[assignment] # mutable, because this request is a copy
    return request
