"""Shows the page of a packet, `/packets/<reference>/`: its progress, then each outcome.

One view answers for the page and for its live parts: `poll.js` requests the same address with
`X-Fragment: 1` and receives the live parts, or 304 while nothing has changed.
"""

from collections import Counter

from django.db.models import Count, F, Max, Sum
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response

from ingestion import notifications
from ingestion.core.states import DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.documents import redactions
from ingestion.documents.portal_sources import describe_source
from ingestion.documents.progress import get_progress
from ingestion.documents.site_readiness import get_readiness
from ingestion.models import Document, Extraction, Packet
from sites.models import User
from web.documents.outcomes import PREFETCHED, DocumentOutcome, describe_outcome
from web.documents.page_images import add_page_image
from web.packets.progress import PacketProgress
from web.shell.access import READ, SignedIn, restrict_page
from web.sites.required_documents import DocumentConflict, describe_missing, list_conflicts

POLL_MILLISECONDS = 2000
MAX_IMAGES_PER_PAGE = 40  # the pages of the documents have the other images


@restrict_page(READ)
def packet_page(request: SignedIn, reference: str) -> HttpResponse:
    """Show a packet. With `X-Fragment`, return its live parts, or 304 if nothing has changed.

    Raises Http404 if the person cannot see the packet.
    """
    packet = _get_visible_packet(request.user, reference)
    has_worker = host_heartbeat.is_any_running()
    # The entity tag changes with every recorded transition and every attempt of a document, so that
    # a 304 response reads no document. It also changes when the last worker stops or the first one
    # starts, when the documents of the site come from another source, and when the time of the next
    # attempt moves.
    totals = packet.documents.aggregate(
        number=Count("pk"),
        changes=Sum(F("revision") + F("attempts") + F("fetch_tries")),
        due_at=Max("chunk__next_dispatch_at"),
    )
    source = describe_source(packet.site)
    times = [at.isoformat() if at else "" for at in (totals["due_at"], source.next_probe_at)]
    parts = (packet.pk, totals["number"], totals["changes"], int(has_worker), source.kind, *times)
    etag = f'"{"-".join(map(str, parts))}"'
    is_fragment = bool(request.headers.get("X-Fragment"))
    if is_fragment and (unchanged := get_conditional_response(request, etag=etag)):
        return unchanged
    context = {"packet": packet, "etag": etag, "poll": POLL_MILLISECONDS}
    context |= {"source": source, "source_site": packet.site}
    context |= _describe_packet(packet, request.user, has_worker=has_worker)
    template = "packets/_live.html" if is_fragment else "packets/page.html"
    response = render(request, template, context)
    if is_fragment:
        response["ETag"] = etag
    return response


@restrict_page(READ)
def download_receipt(request: SignedIn, reference: str) -> HttpResponse:
    """Return the receipt of a packet as a PDF file, and record the download."""
    from ingestion.intake import receipts  # noqa: PLC0415 - loads the library that lays out PDFs

    packet = _get_visible_packet(request.user, reference)
    receipt = receipts.render_receipt(packet)
    if request.method == "GET":
        receipts.record_receipt_download(packet, by=request.user.actor)
    headers = {"Content-Disposition": f'attachment; filename="{packet.reference}-receipt.pdf"'}
    return HttpResponse(receipt, content_type="application/pdf", headers=headers)


def _get_visible_packet(user: User, reference: str) -> Packet:
    packets = Packet.objects.visible_to(user).select_related(
        "site__study", "site__portal", "batch__submitted_by"
    )
    return get_object_or_404(packets, reference=reference)


def _describe_packet(packet: Packet, person: User, *, has_worker: bool) -> dict[str, object]:
    """Return the context of the live parts."""
    rows = packet.documents.select_related("site", "chunk", "duplicate_of__packet", "corrects")
    # In the order in which they were sent, which does not change during the checks.
    documents = list(rows.prefetch_related("findings", *PREFETCHED).order_by("pk"))
    outcomes = _describe_outcomes(documents, person)
    progress = PacketProgress(
        Counter(DocumentState(document.state) for document in documents),
        needing=sum(outcome.needs_site for outcome in outcomes),
        has_worker=has_worker,
    )
    is_notified = notifications.is_on() and notifications.is_wanted_by(person)
    batch_progress = None if progress.is_done else get_progress(packet.batch)
    settled_at = [document.settled_at for document in documents if document.settled_at]
    return {
        "progress": progress,
        "estimate": batch_progress.estimate if batch_progress else None,
        "waits_for_portal": batch_progress is not None and batch_progress.waits_for_portal,
        "outcomes": outcomes,
        "conflicts": _list_conflicts(packet, documents, person) if progress.is_done else [],
        "is_notified": is_notified and not progress.is_done,
        "finished_at": max(settled_at, default=None) if progress.is_done else None,
    }


def _describe_outcomes(documents: list[Document], person: User) -> list[DocumentOutcome]:
    """Return the outcomes, with page images for documents that the site has to correct."""
    keys = [document.pk for document in documents]
    needing = set(Document.objects.needing_site().filter(pk__in=keys).values_list("pk", flat=True))
    outcomes = [
        describe_outcome(document, for_staff=person.is_staff, needs_site=document.pk in needing)
        for document in documents
    ]
    with_image = [outcome.document for outcome in outcomes if outcome.can_be_corrected]
    extractions: dict[int, Extraction] = {}
    if with_image:
        rows = Extraction.objects.filter(document__in=with_image[:MAX_IMAGES_PER_PAGE])
        for extraction in rows.order_by("attempt").defer("words"):
            extractions[extraction.document_id] = extraction  # the last attempt replaces the others
    redactions.load_decisions(with_image)
    return [
        add_page_image(outcome, person, extractions.get(outcome.document.pk))
        for outcome in outcomes
    ]


def _list_conflicts(
    packet: Packet, documents: list[Document], person: User
) -> list[DocumentConflict]:
    """Return the conflicts of the site that concern a document of this packet.

    Missing documents of people form one conflict, so that its advice is not repeated.
    """
    keys = {document.pk for document in documents}
    readiness = get_readiness(packet.site)
    gaps = [
        gap
        for gap in readiness.gaps
        if gap.one.key in keys or (gap.other and gap.other.key in keys)
    ]
    missing = [gap for gap in gaps if gap.other is None]
    if len(missing) < 2:
        return list_conflicts(readiness, gaps, for_staff=person.is_staff)
    pairs = [gap for gap in gaps if gap.other]
    return [
        *list_conflicts(readiness, pairs, for_staff=person.is_staff),
        describe_missing(readiness, missing, for_staff=person.is_staff),
    ]
