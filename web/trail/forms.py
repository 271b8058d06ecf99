"""Defines the forms of the audit trail.

A period includes its first and its last day, both in UTC.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.ledger.queries import EntrySearch
from audit.trail_reviews import Outcome, ReviewScope
from ingestion.models import Packet
from sites.models import Site, Study, User
from web.shell.event_labels import EVENTS
from web.shell.forms import PlainForm, SignedForm

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

MAX_FINDINGS_LENGTH = 10_000  # characters


def _text_field(
    label: "str | _StrPromise", hint: "str | _StrPromise" = "", **options: Any
) -> forms.CharField:
    options = {"required": False, "max_length": 200} | options
    return forms.CharField(label=label, help_text=hint, **options)


def _day_field(
    label: "str | _StrPromise", hint: "str | _StrPromise" = "", **options: Any
) -> forms.DateField:
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, help_text=hint, widget=widget, **options)


def _require_row(model: type[Site | Study], column: str, value: str, message: str) -> str:
    """Return the value. Raises ValidationError with the message if no row has it."""
    if value and not model._default_manager.filter(**{column: value}).exists():
        raise forms.ValidationError(message.format(value=value))
    return value


class SiteForm(PlainForm):
    """The base of forms with a site number and a period."""

    site = _text_field(gettext_lazy("Site number"))

    def clean_site(self) -> str:
        message = _("Site {value} does not exist. Check the number.")
        return _require_row(Site, "site_id", self.cleaned_data["site"], message)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        since, until = given.get("since"), given.get("until")
        if since and until and until < since:
            self.add_error(
                "until", _("The end date is before the start date. Correct one of them.")
            )
        return given


class SearchForm(SiteForm):
    """Searches the audit trail by site, period, document, person and event."""

    doc_id = _text_field(gettext_lazy("Document"))
    person = _text_field(gettext_lazy("User name"))
    event = forms.ChoiceField(
        label=gettext_lazy("Event"),
        required=False,
        # A function, because the order depends on the active language.
        choices=lambda: [
            ("", _("All events")),
            *sorted(EVENTS.items(), key=lambda item: str(item[1])),
        ],
    )
    since = _day_field(gettext_lazy("From"), required=False)
    until = _day_field(gettext_lazy("To"), required=False)

    def clean_person(self) -> str:
        """Return the actor identifier of the account with this user name."""
        name = self.cleaned_data["person"]
        person = User.objects.filter(username=name).first()
        if name and person is None:
            message = _("No account has the user name {name}. Check the spelling.")
            raise forms.ValidationError(message.format(name=name))
        return person.actor_name if person else ""

    @property
    def search(self) -> EntrySearch:
        """Return the search of a form that is valid."""
        given = self.cleaned_data
        return EntrySearch(
            sites=[given["site"]] if given["site"] else [],
            doc_id=given["doc_id"],
            actor=given["person"],
            event=given["event"],
            since=get_midnight(given["since"]),
            until=get_midnight_after(given["until"]),
        )


class ExportForm(SiteForm):
    """The selection of an export. Without any value, the complete audit trail is exported."""

    study = _text_field(gettext_lazy("Study"), gettext_lazy("The protocol number."))
    doc_id = _text_field(
        gettext_lazy("Document"), gettext_lazy("The identifier. Also enter the site number.")
    )
    packet = _text_field(
        gettext_lazy("Packet"), gettext_lazy("The reference, for example PKT-2026-0007.")
    )
    since = _day_field(gettext_lazy("From"), required=False)
    until = _day_field(gettext_lazy("To"), required=False)

    def clean_study(self) -> str:
        message = _("Study {value} does not exist. Check the protocol number.")
        return _require_row(Study, "protocol_number", self.cleaned_data["study"], message)

    def clean_packet(self) -> str:
        reference: str = self.cleaned_data["packet"]
        if reference and not Packet.objects.filter(reference=reference).exists():
            message = _("Packet {reference} does not exist. Check the reference.")
            raise forms.ValidationError(message.format(reference=reference))
        return reference

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("doc_id") and not given.get("site"):
            message = _(
                "Enter the site number. Several sites can have a document with this identifier."
            )
            self.add_error("site", message)
        study, site = given.get("study", ""), given.get("site", "")
        given["sites"] = [site] if site else []
        if study:
            # Entries name sites, not studies.
            rows = Site.objects.filter(study__protocol_number=study).order_by("site_id")
            rows = rows.filter(site_id=site) if site else rows
            given["sites"] = list(rows.values_list("site_id", flat=True))
            if not given["sites"]:  # an empty list would select the complete audit trail
                message = _("This study has no sites yet.")
                if site:
                    message = _("Site {site} does not belong to this study.").format(site=site)
                self.add_error("study", message)
        return given


class AuditReviewForm(SignedForm, SiteForm):
    """Signs a review of the audit trail, with its scope and its outcome."""

    since = _day_field(gettext_lazy("First day"))
    until = _day_field(gettext_lazy("Last day"), gettext_lazy("Not later than today."))
    filters = _text_field(
        gettext_lazy("Entries not reviewed"),
        gettext_lazy(
            "Leave this field empty if you reviewed every entry. Otherwise describe the entries "
            "that you did not review, and name the review plan."
        ),
        max_length=1000,
    )
    findings = forms.CharField(
        label=gettext_lazy("Findings"),
        help_text=gettext_lazy("Describe what you checked and what you found."),
        max_length=MAX_FINDINGS_LENGTH,
        min_length=10,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    outcome = forms.ChoiceField(label=gettext_lazy("Outcome"), choices=Outcome.choices)

    def clean_until(self) -> date:
        day: date = self.cleaned_data["until"]
        if day > timezone.now().date():
            raise forms.ValidationError(_("The last day cannot be in the future."))
        return day

    @property
    def scope(self) -> ReviewScope:
        """Return the scope of a form that is valid."""
        given = self.cleaned_data
        return ReviewScope(given["since"], given["until"], given["site"], given["filters"])


def get_midnight(day: date | None) -> datetime | None:
    """Return the time at which a day begins in UTC; None for None."""
    return datetime.combine(day, time(), UTC) if day else None


def get_midnight_after(day: date | None) -> datetime | None:
    """Return the time at which a day ends in UTC; None for None."""
    return get_midnight(day + timedelta(days=1)) if day else None
