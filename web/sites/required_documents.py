"""Required documents of one site: `/sites/<number>/`. `site_pages` has those of all sites."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import DocumentState
from ingestion.documents.site_readiness import Readiness, readiness_of
from ingestion.models import Document
from ingestion.models.requirements import type_name
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import Sentences, sentences
from ingestion.rules.site_file.cross_checks import Gap
from ingestion.rules.site_file.requirements import Requirement, Standing
from sites.models import Site
from web.documents.outcomes import needed
from web.shell.access import READ, SignedIn, page
from web.shell.state_display import LOOKS, STANDING_LOOKS, Look, state_label
from web.shell.wording import day

_WORDS = {
    Standing.MISSING: _("Missing"),
    Standing.EXPIRED: _("Expired"),
    Standing.CURRENT: _("Filed"),
    Standing.WAIVED: _("Waived"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One requirement, as people see it."""

    kind: str  # a type's slug
    name: str
    whose: str
    person: str  # for the form of an upload; "" where the type is not of one person
    standing: Standing
    look: Look
    word: str
    note: str
    document: Document | None
    named_on: Document | None  # says that it is needed, and nothing is there
    is_open: bool  # the site can send something


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A gap between two documents, said; `other` is None when it is not there."""

    code: str
    said: Sentences
    one: Document
    other: Document | None


@page(READ)
def required_of(request: SignedIn, site_id: str) -> HttpResponse:
    """Another site does not exist."""
    visible = Site.objects.visible_to(request.user).select_related("study")
    stand = readiness_of(get_object_or_404(visible, site_id=site_id))
    waiting = Document.objects.needing_site().filter(site=stand.site)
    context = {
        "stand": stand,
        "lines": lines(stand),
        "gaps": disagreements(stand, stand.contradictions, for_staff=request.user.is_staff),
        "waiting": needed(waiting, for_staff=request.user.is_staff),
        "waiting_count": waiting.count(),
    }
    return render(request, "sites/page.html", context)


def lines(stand: Readiness) -> list[Line]:
    return [_line(each, stand) for each in stand.required]


def disagreements(stand: Readiness, gaps: Iterable[Gap], *, for_staff: bool) -> list[Disagreement]:
    rows = stand.documents
    return [
        Disagreement(
            gap.code,
            sentences(gap.code, gap.facts, for_staff=for_staff),
            rows[gap.one.key],
            rows[gap.other.key] if gap.other else None,
        )
        for gap in gaps
    ]


def _line(each: Requirement, stand: Readiness) -> Line:
    kind = TYPES.get(each.kind)
    look, word = _shown(each)
    form = each.named_on if each.standing is Standing.MISSING else None
    return Line(
        kind=each.kind,
        name=type_name(each.kind),
        whose=each.whose,
        person=each.whose if kind and kind.per_person else "",
        standing=each.standing,
        look=look,
        word=word,
        note=_note(each),
        document=stand.documents[each.paper.key] if each.paper else None,
        named_on=stand.documents[form.key] if form else None,
        is_open=not each.standing.is_met and each.standing is not Standing.PENDING,
    )


def _shown(each: Requirement) -> tuple[Look, str]:
    """What was sent last has the look of its own state, the rest that of its standing."""
    if each.paper and each.standing in {Standing.PENDING, Standing.RETURNED}:
        state = DocumentState(each.paper.state)
        return LOOKS[state], state_label(state)
    if each.standing is Standing.EXPIRING and each.paper and each.paper.expires:
        due = gettext("Due {date}").format(date=day(each.paper.expires))
        return STANDING_LOOKS[each.standing], due
    return STANDING_LOOKS[each.standing], str(_WORDS[each.standing])


def _note(each: Requirement) -> str:
    if each.standing is Standing.WAIVED:
        return each.reason
    if each.standing is Standing.EXPIRED and each.paper and each.paper.expires:
        return gettext("Expired on {date}.").format(date=day(each.paper.expires))
    return ""
