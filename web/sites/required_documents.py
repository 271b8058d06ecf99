"""The required documents of one site, `/sites/<number>/`. `web.sites.sites` lists all sites."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import DocumentState
from ingestion.documents.site_readiness import SiteReadiness, get_readiness
from ingestion.models import Document
from ingestion.models.requirements import type_name
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import Sentences, sentences
from ingestion.rules.site_file.cross_checks import Gap
from ingestion.rules.site_file.requirements import DocumentRequirement, RequirementStatus
from sites.models import Site
from web.documents.outcomes import list_needing_action
from web.shell.access import READ, SignedIn, page
from web.shell.state_display import STANDING_DISPLAYS, STATE_DISPLAYS, StateDisplay, state_label
from web.shell.wording import format_day

_WORDS = {
    RequirementStatus.MISSING: _("Missing"),
    RequirementStatus.EXPIRED: _("Expired"),
    RequirementStatus.CURRENT: _("Filed"),
    RequirementStatus.WAIVED: _("Waived"),
}


@dataclass(frozen=True, slots=True)
class RequirementLine:
    """One requirement of a site, as pages show it."""

    kind: str  # a type's slug
    name: str
    whose: str
    person: str  # for the form of an upload; "" where the type is not of one person
    standing: RequirementStatus
    display: StateDisplay
    word: str
    note: str
    document: Document | None
    named_on: Document | None  # says that it is needed, and nothing is there
    is_open: bool  # the site can send something


@dataclass(frozen=True, slots=True)
class DocumentConflict:
    """A conflict between two documents in words; `other` is None when that document is missing."""

    code: str
    said: Sentences
    one: Document
    other: Document | None


@page(READ)
def site_page(request: SignedIn, site_id: str) -> HttpResponse:
    visible = Site.objects.visible_to(request.user).select_related("study")
    stand = get_readiness(get_object_or_404(visible, site_id=site_id))
    waiting = Document.objects.needing_site().filter(site=stand.site)
    context = {
        "stand": stand,
        "lines": list_requirements(stand),
        "gaps": list_conflicts(stand, stand.contradictions, for_staff=request.user.is_staff),
        "waiting": list_needing_action(waiting, for_staff=request.user.is_staff),
        "waiting_count": waiting.count(),
    }
    return render(request, "sites/page.html", context)


def list_requirements(stand: SiteReadiness) -> list[RequirementLine]:
    return [_line(each, stand) for each in stand.required]


def list_conflicts(
    stand: SiteReadiness, gaps: Iterable[Gap], *, for_staff: bool
) -> list[DocumentConflict]:
    rows = stand.documents
    return [
        DocumentConflict(
            gap.code,
            sentences(gap.code, gap.facts, for_staff=for_staff),
            rows[gap.one.key],
            rows[gap.other.key] if gap.other else None,
        )
        for gap in gaps
    ]


def _line(each: DocumentRequirement, stand: SiteReadiness) -> RequirementLine:
    kind = TYPES.get(each.kind)
    display, word = _display_of(each)
    form = each.named_on if each.status is RequirementStatus.MISSING else None
    return RequirementLine(
        kind=each.kind,
        name=type_name(each.kind),
        whose=each.whose,
        person=each.whose if kind and kind.per_person else "",
        standing=each.status,
        display=display,
        word=word,
        note=_note(each),
        document=stand.documents[each.document.key] if each.document else None,
        named_on=stand.documents[form.key] if form else None,
        is_open=not each.status.is_met and each.status is not RequirementStatus.PENDING,
    )


def _display_of(each: DocumentRequirement) -> tuple[StateDisplay, str]:
    """Return the display of the latest document's state, or else of the requirement's standing."""
    if each.document and each.status in {RequirementStatus.PENDING, RequirementStatus.RETURNED}:
        state = DocumentState(each.document.state)
        return STATE_DISPLAYS[state], state_label(state)
    if each.status is RequirementStatus.EXPIRING and each.document and each.document.expires:
        due = gettext("Due {date}").format(date=format_day(each.document.expires))
        return STANDING_DISPLAYS[each.status], due
    return STANDING_DISPLAYS[each.status], str(_WORDS[each.status])


def _note(each: DocumentRequirement) -> str:
    if each.status is RequirementStatus.WAIVED:
        return each.reason
    if each.status is RequirementStatus.EXPIRED and each.document and each.document.expires:
        return gettext("Expired on {date}.").format(date=format_day(each.document.expires))
    return ""
