"""The forms of the audit trail's pages. Days are days of UTC, both included."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from audit.ledger.queries import Search
from audit.trail_reviews import Outcome, Scope
from ingestion.models import Packet
from sites.models import Site, Study, User
from web.shell.event_labels import EVENTS
from web.shell.forms import PlainForm, SignedForm

MOST_FINDINGS = 10_000  # characters


def _text(label: str, hint: str = "", **options: Any) -> forms.CharField:
    given = {"required": False, "max_length": 200} | options
    return forms.CharField(label=label, help_text=hint, **given)


def _day(label: str, hint: str = "", **options: Any) -> forms.DateField:
    picked = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, help_text=hint, widget=picked, **options)


def _known(model: type[Site | Study], column: str, value: str, what: str) -> str:
    if value and not model._default_manager.filter(**{column: value}).exists():
        raise forms.ValidationError(f"There is no {what} {value}. Check how it is written.")
    return value


class SiteField(PlainForm):
    site = _text("Site number")

    def clean_site(self) -> str:
        return _known(Site, "site_id", self.cleaned_data["site"], "site")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        since, until = given.get("since"), given.get("until")
        if since and until and until < since:
            self.add_error("until", "The last day lies before the first. Exchange the two.")
        return given


class SearchForm(SiteField):
    doc_id = _text("Document")
    person = _text("User name")
    event = forms.ChoiceField(
        label="What happened",
        required=False,
        choices=[("", "Anything"), *sorted(EVENTS.items(), key=lambda item: item[1])],
    )
    since = _day("From", required=False)
    until = _day("To", required=False)

    def clean_person(self) -> str:
        """The actor, for the search."""
        name = self.cleaned_data["person"]
        person = User.objects.filter(username=name).first()
        if name and person is None:
            raise forms.ValidationError(f"Nobody has the user name {name}. Check its spelling.")
        return person.actor if person else ""

    @property
    def search(self) -> Search:
        """After `is_valid()`."""
        given = self.cleaned_data
        return Search(
            sites=[given["site"]] if given["site"] else [],
            doc_id=given["doc_id"],
            actor=given["person"],
            event=given["event"],
            since=midnight(given["since"]),
            until=midnight_after(given["until"]),
        )


class ExportForm(SiteField):
    """Each field narrows what is exported; none gives the whole trail."""

    study = _text("Study", "Its protocol number.")
    doc_id = _text("Document", "Its identifier, together with its site.")
    packet = _text("Packet", "Its reference, such as PKT-2026-0007.")
    since = _day("From", required=False)
    until = _day("To", required=False)

    def clean_study(self) -> str:
        return _known(Study, "protocol_number", self.cleaned_data["study"], "study")

    def clean_packet(self) -> str:
        reference: str = self.cleaned_data["packet"]
        if reference and not Packet.objects.filter(reference=reference).exists():
            raise forms.ValidationError(f"There is no packet {reference}.")
        return reference

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("doc_id") and not given.get("site"):
            self.add_error("site", "Say of which site: documents of many sites are named alike.")
        given["sites"] = self._sites(given.get("study", ""), given.get("site", ""))
        return given

    def _sites(self, study: str, site: str) -> list[str]:
        """A trail knows sites, not studies. None would be the whole trail: it is an error."""
        if not study:
            return [site] if site else []
        found = Site.objects.filter(study__protocol_number=study).order_by("site_id")
        found = found.filter(site_id=site) if site else found
        numbers = list(found.values_list("site_id", flat=True))
        if not numbers:
            self.add_error("study", "It has no such site." if site else "It has no sites yet.")
        return numbers


class ReviewForm(SignedForm, SiteField):
    since = _day("First day")
    until = _day("Last day", "Today at the latest.")
    filters = _text(
        "What you left out",
        "Leave it empty if you looked at every entry. Otherwise say which entries you passed "
        "over, and by which plan.",
        max_length=1000,
    )
    findings = forms.CharField(
        label="What you found",
        help_text="Say what you looked for, and what you saw.",
        max_length=MOST_FINDINGS,
        min_length=10,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    outcome = forms.ChoiceField(label="Outcome", choices=Outcome.choices)

    def clean_until(self) -> date:
        day: date = self.cleaned_data["until"]
        if day > timezone.now().date():
            raise forms.ValidationError("This day has not begun. Nobody can have looked at it.")
        return day

    @property
    def scope(self) -> Scope:
        """After `is_valid()`."""
        given = self.cleaned_data
        return Scope(given["since"], given["until"], given["site"], given["filters"])


def midnight(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), UTC) if day else None


def midnight_after(day: date | None) -> datetime | None:
    """Where a day that is included ends."""
    return midnight(day + timedelta(days=1)) if day else None
