"""A person's own settings of this app: mail."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from ingestion import notifications
from web.shell.access import SignedIn


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account_mail(request: SignedIn) -> HttpResponse:
    if request.method == "POST":
        on = request.POST.get("wanted") == "on"
        notifications.switch(request.user, on=on)
        messages.info(
            request, "Email notifications are on." if on else "Email notifications are off."
        )
        return redirect("account_mail")
    context = {"is_wanted": notifications.wanted_by(request.user), "is_on": notifications.is_on()}
    return render(request, "account/mail.html", context)
