"""Lets people turn their email notifications on and off."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from ingestion import notifications
from web.shell.access import FORM, SignedIn, restrict_page


@restrict_page(FORM)
def account_mail(request: SignedIn) -> HttpResponse:
    """Show whether email notifications are on. With POST, turn them on or off."""
    if request.method == "POST":
        is_on = request.POST.get("wanted") == "on"
        notifications.switch(request.user, on=is_on)
        turned_on, turned_off = _("Email notifications are on."), _("Email notifications are off.")
        messages.info(request, turned_on if is_on else turned_off)
        return redirect("account_mail")
    context = {
        "is_wanted": notifications.is_wanted_by(request.user),
        "is_on": notifications.is_on(),
    }
    return render(request, "account/mail.html", context)
