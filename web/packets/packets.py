"""A packet's page, `/packets/<ref>/`: live progress, and then what came of each document.

The page and its fragment are one view: `poll.js` asks the same address with
`X-Fragment: 1` and gets the live parts alone, or 304 while nothing has changed.
"""

from django.db.models import Count, Sum
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response

from ingestion import notifications
from ingestion.core.states import DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import receipts
from ingestion.models import Document, Extraction, Packet
from sites.models import User
from web.documents.outcomes import ACTED_ON, DocumentOutcome, describe_outcome
from web.documents.page_images import with_page_image
from web.packets.progress import PacketProgress
from web.shell.access import READ, SignedIn, page
from web.sites.required_documents import DocumentConflict, list_conflicts

POLL_MILLISECONDS = 2000
MAX_IMAGES_PER_PAGE = 40  # on one page; a document's own page has the others


@page(READ)
def packet_page(request: SignedIn, reference: str) -> HttpResponse:
    packet = _visible(request.user, reference)
    has_worker = host_heartbeat.is_any_running()
    etag = _etag(packet, has_worker=has_worker)
    is_fragment = bool(request.headers.get("X-Fragment"))
    if is_fragment and (unchanged := get_conditional_response(request, etag=etag)):
        return unchanged
    context = {"packet": packet, "etag": etag, "poll": POLL_MILLISECONDS}
    context |= _results(packet, request.user, has_worker=has_worker)
    template = "packets/_live.html" if is_fragment else "packets/page.html"
    response = render(request, template, context)
    if is_fragment:
        response["ETag"] = etag
    return response


@page(READ)
def download_receipt(request: SignedIn, reference: str) -> HttpResponse:
    """What was received, as a PDF. That somebody has it is on record."""
    packet = _visible(request.user, reference)
    drawn = receipts.render_receipt(packet)
    if request.method == "GET":
        receipts.record_download(packet, by=request.user.actor)
    name = f'attachment; filename="{packet.reference}-receipt.pdf"'
    headers = {"Content-Disposition": name}
    return HttpResponse(drawn, content_type="application/pdf", headers=headers)


def _visible(user: User, reference: str) -> Packet:
    packets = Packet.objects.visible_to(user)
    return get_object_or_404(
        packets.select_related("site__study", "batch__submitted_by"), reference=reference
    )


def _documents(packet: Packet) -> list[Document]:
    """In the order in which they were sent, which never changes while they are checked."""
    documents = packet.documents.select_related("site", "duplicate_of__packet", "corrects")
    return list(documents.prefetch_related("findings", *ACTED_ON).order_by("pk"))


def _outcomes(documents: list[Document], person: User) -> list[DocumentOutcome]:
    """With pictures of what has to be put right."""
    own = [document.pk for document in documents]
    needing = set(Document.objects.needing_site().filter(pk__in=own).values_list("pk", flat=True))
    came = [
        describe_outcome(document, for_staff=person.is_staff, needs_site=document.pk in needing)
        for document in documents
    ]
    wanting = [each.document for each in came if each.can_be_corrected][:MAX_IMAGES_PER_PAGE]
    rows = Extraction.objects.filter(document__in=wanting).order_by("attempt")
    read = {row.document_id: row for row in rows.defer("words")} if wanting else {}
    return [with_page_image(each, person, read.get(each.document.pk)) for each in came]


def _results(packet: Packet, person: User, *, has_worker: bool) -> dict[str, object]:
    documents = _documents(packet)
    counts: dict[DocumentState, int] = {}
    for document in documents:
        state = DocumentState(document.state)
        counts[state] = counts.get(state, 0) + 1
    outcomes = _outcomes(documents, person)
    needing = sum(each.needs_site for each in outcomes)
    progress = PacketProgress(counts, needing, has_worker=has_worker)
    settled = [document.settled_at for document in documents if document.settled_at]
    return {
        "gaps": _gaps(packet, documents, person) if progress.is_done else [],
        "progress": progress,
        "outcomes": outcomes,
        "mails": not progress.is_done and notifications.is_on() and notifications.wanted_by(person),
        "finished_at": max(settled, default=None) if progress.is_done else None,
    }


def _gaps(packet: Packet, documents: list[Document], person: User) -> list[DocumentConflict]:
    """Those of the site that a document of this packet is part of."""
    own = {document.pk for document in documents}
    stand = get_readiness(packet.site)
    found = [gap for gap in stand.gaps if own & {gap.one.key, gap.other.key if gap.other else 0}]
    return list_conflicts(stand, found, for_staff=person.is_staff)


def _etag(packet: Packet, *, has_worker: bool) -> str:
    """Grows with every recorded transition of any document: 304 needs no row to be read.

    It also changes when the last worker is gone, and when one is back.
    """
    seen = packet.documents.aggregate(number=Count("pk"), revisions=Sum("revision"))
    return f'"{packet.pk}-{seen["number"]}-{seen["revisions"]}-{int(has_worker)}"'
