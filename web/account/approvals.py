"""Pages of requests that need a second person's approval, and the decision about one of them."""

from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from sites import approvals
from sites.accounts.identity import Cause
from sites.models import User
from web.account.password import prove_password
from web.shell.access import FORM, READ, SignedIn, page
from web.shell.forms import PlainForm

SEE = "clinical_sites.change_portal"  # operations and administrators, who ask and decide
REQUESTS_PER_PAGE = 50
APPROVE, REFUSE, WITHDRAW = "approve", "refuse", "withdraw"
_COLUMN_LABELS = {
    "base_url": _("Base address"),
    "allow_http": _("Requests without TLS are allowed"),
    "allow_private_hosts": _("Private addresses are allowed"),
    "approved_origin": _("Receives the portal's secret"),
    "for": _("Acts for"),
    "scopes": _("Scopes"),
    "expires_at": _("Expires"),
}


class ApprovalDecisionForm(PlainForm):
    """The reason for a decision, and the password, so that an unattended session cannot approve."""

    note = forms.CharField(
        min_length=approvals.MIN_NOTE_LENGTH,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, person: User, note_label: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._person = person
        self.fields["note"].label = note_label

    def clean_password(self) -> str:
        return prove_password(self._person, self.cleaned_data["password"])


@page(READ, permission=SEE)
def requests(request: SignedIn) -> HttpResponse:
    rows = approvals.visible_to(request.user).select_related("asked_by")
    waiting = list(rows.open())
    closed = Paginator(rows.exclude(pk__in=[row.pk for row in waiting]), REQUESTS_PER_PAGE)
    context = {"waiting": waiting, "page": closed.get_page(request.GET.get("page"))}
    return render(request, "account/approvals.html", context)


@page(FORM, permission=SEE)
@sensitive_post_parameters("password")
def one_request(request: SignedIn, pk: int) -> HttpResponse:
    row = get_object_or_404(approvals.visible_to(request.user), pk=pk)
    act = request.POST.get("act", "")
    label = approvals.rule_of(row).note_label
    given = request.POST if act in {APPROVE, REFUSE} else None
    form = ApprovalDecisionForm(request.user, label, given)
    try:
        if act == WITHDRAW:
            approvals.withdraw(row, request.user)
            messages.success(request, gettext("Your request is withdrawn."))
            return redirect("approvals")
        if form.is_valid():
            note = form.cleaned_data["note"]
            approvals.decide(row, request.user, is_approved=act == APPROVE, note=note)
            message = gettext("Your decision on “{request}” is recorded: {state}.")
            messages.success(request, message.format(request=row, state=row.get_state_display()))
            return redirect("approvals")
    except approvals.NotDecided as refused:
        messages.error(request, str(refused))
        return redirect("approval", pk=pk)
    row.refresh_from_db()
    context = {
        "row": row,
        "cause": Cause(row.cause).label if row.cause else "",
        "changes": list(_labelled_changes(approvals.differences(row))),
        "refusal": approvals.refusal(row, request.user),
        "may_withdraw": row.is_open and row.asked_by == request.user and row.kind != "identity",
        "form": form,
    }
    status = 400 if form.errors else 200
    return render(request, "account/approval.html", context, status=status)


def _labelled_changes(changes: Iterable[tuple[str, Any, Any]]) -> Iterator[tuple[str, str, str]]:
    for name, old, new in changes:
        yield str(_COLUMN_LABELS.get(name, name)), _format_value(old), _format_value(new)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    return ", ".join(value) if isinstance(value, list) else str(value)
