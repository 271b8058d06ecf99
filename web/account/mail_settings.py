"""The page on which people switch their email notifications on and off."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from ingestion import notifications
from web.shell.access import FORM, SignedIn, page


@page(FORM)
def account_mail(request: SignedIn) -> HttpResponse:
    if request.method == "POST":
        on = request.POST.get("wanted") == "on"
        notifications.switch(request.user, on=on)
        messages.info(
            request, _("Email notifications are on.") if on else _("Email notifications are off.")
        )
        return redirect("account_mail")
    context = {"is_wanted": notifications.wanted_by(request.user), "is_on": notifications.is_on()}
    return render(request, "account/mail.html", context)
