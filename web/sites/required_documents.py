"""Shows the required documents of one site, at `/sites/<number>/`.

`web.sites.sites` lists all sites.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import DocumentState
from ingestion.documents.portal_sources import describe_source
from ingestion.documents.site_readiness import SiteReadiness, get_readiness
from ingestion.models import Document
from ingestion.models.requirements import get_type_name
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import Sentences, format_sentences
from ingestion.rules.site_file.cross_checks import Gap
from ingestion.rules.site_file.requirements import DocumentRequirement, RequirementStatus
from sites.models import Site
from web.documents.outcomes import list_needing_action
from web.shell.access import READ, SignedIn, restrict_page
from web.shell.state_display import (
    REQUIREMENT_DISPLAYS,
    STATE_DISPLAYS,
    StateDisplay,
    get_state_label,
)
from web.shell.wording import format_day

_LABELS = {
    RequirementStatus.MISSING: _("Missing"),
    RequirementStatus.EXPIRED: _("Expired"),
    RequirementStatus.CURRENT: _("Filed"),
    RequirementStatus.WAIVED: _("Waived"),
}


@dataclass(frozen=True, slots=True)
class RequirementLine:
    """One requirement of a site, as pages show it."""

    document_type: str  # slug
    name: str  # of the document type
    whose: str  # the person or laboratory; "" for the site
    person: str  # for a link to the upload form; "" if the type does not belong to one person
    status: RequirementStatus
    display: StateDisplay
    label: str
    note: str
    document: Document | None
    named_on: Document | None  # the document that names the person whose document is missing
    is_open: bool  # whether the site can send a document for it


@dataclass(frozen=True, slots=True)
class DocumentConflict:
    """A conflict between two documents in words; `other` is None when that document is missing."""

    code: str
    sentences: Sentences
    one: Document
    other: Document | None


@restrict_page(READ)
def site_page(request: SignedIn, site_id: str) -> HttpResponse:
    """Show the required documents of one site, and the conflicts between its documents."""
    visible = Site.objects.visible_to(request.user).select_related("study", "portal")
    readiness = get_readiness(get_object_or_404(visible, site_id=site_id))
    waiting = Document.objects.needing_site().filter(site=readiness.site)
    is_staff = request.user.is_staff
    context = {
        "readiness": readiness,
        "requirements": list_requirements(readiness),
        "has_open": any(not each.status.is_met for each in readiness.required),
        "conflicts": list_conflicts(readiness, readiness.contradictions, for_staff=is_staff),
        "waiting": list_needing_action(waiting, for_staff=is_staff),
        "waiting_count": waiting.count(),
        "source": describe_source(readiness.site),
        "source_site": readiness.site,
    }
    return render(request, "sites/page.html", context)


@restrict_page(READ)
def separator_sheets(request: SignedIn, site_id: str) -> HttpResponse:
    """Return the separator sheets of a site as a PDF file to print.

    With `?documents=open`, only those of documents that the site still has to send. Raises Http404
    if there is none.
    """
    from ingestion.documents import separator_sheets as printing  # noqa: PLC0415 - lays out PDFs

    visible = Site.objects.visible_to(request.user).select_related("study")
    site = get_object_or_404(visible, site_id=site_id)
    only_open = request.GET.get("documents") == "open"
    sheets = printing.list_separator_sheets(get_readiness(site), only_open=only_open)
    if not sheets:
        raise Http404
    headers = {"Content-Disposition": f'inline; filename="separator-sheets-{site.pk}.pdf"'}
    content = printing.render_sheets(site, sheets)
    return HttpResponse(content, content_type="application/pdf", headers=headers)


def list_requirements(readiness: SiteReadiness) -> list[RequirementLine]:
    """Return the requirements of a site in words."""
    return [_describe_requirement(requirement, readiness) for requirement in readiness.required]


def list_conflicts(
    readiness: SiteReadiness, gaps: Iterable[Gap], *, for_staff: bool
) -> list[DocumentConflict]:
    """Return gaps between documents of a site in words, for the site or for staff."""
    documents = readiness.documents
    return [
        DocumentConflict(
            gap.code,
            format_sentences(gap.code, gap.facts, for_staff=for_staff),
            documents[gap.one.key],
            documents[gap.other.key] if gap.other else None,
        )
        for gap in gaps
    ]


def describe_missing(
    readiness: SiteReadiness, gaps: Sequence[Gap], *, for_staff: bool
) -> DocumentConflict:
    """Return several missing documents of people in one statement, grouped by person."""
    by_person: dict[str, list[str]] = {}
    for gap in gaps:
        noun = gettext(str(gap.facts["lacking"]))
        by_person.setdefault(str(gap.facts["absent"]), []).append(noun)
    missing = "; ".join(f"{person} ({', '.join(nouns)})" for person, nouns in by_person.items())
    first = gaps[0]
    return DocumentConflict(
        first.code,
        format_sentences(first.code, {"missing": missing}, for_staff=for_staff),
        readiness.documents[first.one.key],
        None,
    )


def _describe_requirement(
    requirement: DocumentRequirement, readiness: SiteReadiness
) -> RequirementLine:
    status, latest = requirement.status, requirement.document
    expires = format_day(latest.expires) if latest and latest.expires else ""
    display = REQUIREMENT_DISPLAYS[status]
    note = ""
    if latest and status in {RequirementStatus.PENDING, RequirementStatus.RETURNED}:
        # The state of the latest document says more than the status of the requirement.
        state = DocumentState(latest.state)
        display, label = STATE_DISPLAYS[state], get_state_label(state)
    elif status is RequirementStatus.EXPIRING and expires:
        label = gettext("Due {date}").format(date=expires)
    else:
        label = str(_LABELS[status])
    if status is RequirementStatus.WAIVED:
        note = requirement.reason
    elif status is RequirementStatus.EXPIRED and expires:
        note = gettext("Expired on {date}.").format(date=expires)
    document_type = TYPES.get(requirement.document_type)
    is_missing = status is RequirementStatus.MISSING
    named_on = requirement.named_on if is_missing else None
    return RequirementLine(
        document_type=requirement.document_type,
        name=get_type_name(requirement.document_type),
        whose=requirement.whose,
        person=requirement.whose if document_type and document_type.per_person else "",
        status=status,
        display=display,
        label=label,
        note=note,
        document=readiness.documents[latest.key] if latest else None,
        named_on=readiness.documents[named_on.key] if named_on else None,
        is_open=not status.is_met and status is not RequirementStatus.PENDING,
    )
