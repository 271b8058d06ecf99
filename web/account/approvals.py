"""Lists the requests that need a second person's approval, and shows each on a page."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from sites import approvals
from sites.accounts.identity import Cause
from sites.models import User
from web.account.password import prove_password
from web.permissions import VIEW_APPROVALS
from web.shell.access import FORM, READ, SignedIn, restrict_page
from web.shell.forms import PlainForm

REQUESTS_PER_PAGE = 50
APPROVE, REFUSE, WITHDRAW = "approve", "refuse", "withdraw"
_COLUMN_LABELS = {
    "base_url": _("Base address"),
    "allow_http": _("Requests without TLS are allowed"),
    "allow_private_hosts": _("Private addresses are allowed"),
    "mirror_of_id": _("Is a mirror of portal (number)"),
    "approved_origin": _("Receives the portal's secret"),
    "for": _("Acts for"),
    "scopes": _("Scopes"),
    "expires_at": _("Expires"),
}


class ApprovalDecisionForm(PlainForm):
    """The reason for a decision, and the password, so that nobody can decide in an open session."""

    note = forms.CharField(
        min_length=approvals.MIN_NOTE_CHARACTERS,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(
        self, person: User, note_label: "str | Promise", *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._person = person
        self.fields["note"].label = str(note_label)

    def clean_password(self) -> str:
        return prove_password(self._person, self.cleaned_data["password"])


@restrict_page(READ, permission=VIEW_APPROVALS)
def list_requests(request: SignedIn) -> HttpResponse:
    """List the waiting requests, and the closed ones in pages."""
    rows = approvals.filter_visible_requests(request.user).select_related("asked_by")
    waiting = list(rows.open())
    closed = Paginator(rows.exclude(pk__in=[row.pk for row in waiting]), REQUESTS_PER_PAGE)
    context = {"waiting": waiting, "page": closed.get_page(request.GET.get("page"))}
    return render(request, "account/approvals.html", context)


@restrict_page(FORM, permission=VIEW_APPROVALS)
@sensitive_post_parameters("password")
def show_request(request: SignedIn, pk: int) -> HttpResponse:
    """Show one request. With POST, approve, refuse or withdraw it."""
    row = get_object_or_404(approvals.filter_visible_requests(request.user), pk=pk)
    action = request.POST.get("act", "")
    note_label = approvals.get_rule(row).note_label
    data = request.POST if action in {APPROVE, REFUSE} else None
    form = ApprovalDecisionForm(request.user, note_label, data)
    try:
        if action == WITHDRAW:
            approvals.withdraw(row, request.user)
            messages.success(request, gettext("Your request was withdrawn."))
            return redirect("approvals")
        if form.is_valid():
            note = form.cleaned_data["note"]
            approvals.decide(row, request.user, is_approved=action == APPROVE, note=note)
            message = gettext("Your decision on “{request}” was recorded: {state}.")
            messages.success(request, message.format(request=row, state=row.get_state_display()))
            return redirect("approvals")
    except approvals.NotDecided as refusal:
        messages.error(request, str(refusal))
        return redirect("approval", pk=pk)
    row.refresh_from_db()
    context = {
        "row": row,
        "cause": Cause(row.cause).label if row.cause else "",
        "changes": [
            (str(_COLUMN_LABELS.get(name, name)), _format_value(old), _format_value(new))
            for name, old, new in approvals.iter_differences(row)
        ],
        "refusal": approvals.explain_approval_refusal(row, request.user),
        "can_withdraw": row.is_open and row.asked_by == request.user and row.kind != "identity",
        "form": form,
    }
    status = 400 if form.errors else 200
    return render(request, "account/approval.html", context, status=status)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    return ", ".join(value) if isinstance(value, list) else str(value)
