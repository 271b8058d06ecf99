"""Why: nobody changes, deletes or does anything in the admin without saying (Annex 11, 9; R03).

The field, and the mixin that demands it of the actions of a list;
`audit.change_tracking.audited_admin` demands it of forms and of deletions. What was said reaches
the entries through `audit.ledger.context`.
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

from audit.ledger.context import change_reason

REASON_FIELD = "reason_for_change"
# Blanks around the reason are not counted.
MIN_REASON_CHARACTERS = 10
MAX_REASON_CHARACTERS = 1_000
_LABEL = _("Reason for this change")


if TYPE_CHECKING:
    _Base = ModelAdmin[Any]  # generic for mypy alone
else:
    _Base = ModelAdmin


def reason_field() -> forms.CharField:
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


def with_reason(form: type[Any]) -> type[Any]:
    """The same form, which also asks why."""
    return type(form.__name__, (form,), {REASON_FIELD: reason_field()})


class ChangeReasonForm(forms.Form):
    """On the pages that ask whether something should really be deleted."""

    reason_for_change = reason_field()


class ReasonedActionForm(ActionForm):
    # Not required here: Django would say that no action was selected.
    reason_for_change = forms.CharField(
        label=format_lazy("{}:", _LABEL), required=False, widget=AdminTextInputWidget
    )


class ReasonedActions(_Base):
    """Actions on a list need a reason, which their entries carry."""

    action_form = ReasonedActionForm

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        with change_reason(request.POST.get(REASON_FIELD, "")):
            return super().changelist_view(request, *args, **options)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *location: Any
    ) -> HttpResponse | None:
        form = ChangeReasonForm(request.POST)
        # Of several actions Django would take the first.
        if request.POST.getlist("action") == ["delete_selected"]:
            return self._deletion(request, queryset, form)
        if not form.is_valid():
            sentence = gettext(
                "Nothing was changed. Enter a reason of at least {n} characters next to the action."
            )
            self.message_user(request, sentence.format(n=MIN_REASON_CHARACTERS), messages.ERROR)
            return None
        return super().response_action(request, queryset, *location)

    def _deletion(
        self, request: HttpRequest, queryset: QuerySet[Any], form: ChangeReasonForm
    ) -> HttpResponse | None:
        """The page that asks comes before the reason, and again while there is none."""
        is_confirmed = "post" in request.POST
        if is_confirmed and not form.is_valid():
            request = without_confirmation(request, "action", "index", "select_across", CHECKBOX)
        response = super().response_action(request, queryset)
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            shown = form if is_confirmed else ChangeReasonForm(initial=request.POST.dict())
            response.context_data["reason_form"] = shown
        return response


def without_confirmation(request: HttpRequest, *kept: str) -> HttpRequest:
    """The same request as if its last button had not been pressed: Django asks once more."""
    sent = QueryDict(mutable=True)
    for name in kept:
        sent.setlist(name, request.POST.getlist(name))
    request = copy.copy(request)
    request.POST = sent  # type: ignore[assignment] # a mutable one: this request is a copy
    return request
