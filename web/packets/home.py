"""A coordinator's start page, `/`: what needs them, and their packets."""

from collections import Counter
from collections.abc import Iterable

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.core.states import DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import Document, Packet
from ingestion.operations import work_status
from sites.models import Site
from web.documents.outcomes import list_needing_action
from web.packets.progress import PacketProgress
from web.shell.access import READ, SignedIn, page
from web.shell.landing import start_page

PACKETS_PER_PAGE = 15


@page(READ)
def home(request: SignedIn) -> HttpResponse:
    if request.user.is_staff:
        return redirect(start_page(request.user))
    waiting = Document.objects.visible_to(request.user).needing_site()
    packets = Packet.objects.visible_to(request.user).select_related("site", "batch__submitted_by")
    page = Paginator(packets, PACKETS_PER_PAGE).get_page(request.GET.get("page"))
    own_sites = Site.objects.of(request.user)
    context = {
        "has_site": own_sites.exists(),
        "silent": work_status.find_silent_portal_sites(own_sites),
        "waiting": list_needing_action(waiting),
        "waiting_count": waiting.count(),
        "page": page,
        "packets": _with_progress(page.object_list),
    }
    return render(request, "home.html", context)


def _with_progress(packets: Iterable[Packet]) -> list[tuple[Packet, PacketProgress]]:
    """The same few queries for any number of packets."""
    shown = list(packets)
    counts: dict[int, dict[DocumentState, int]] = {packet.pk: {} for packet in shown}
    states = Document.objects.filter(packet__in=shown).order_by().values_list("packet", "state")
    for packet, state, number in states.annotate(Count("pk")):
        counts[packet][DocumentState(state)] = number
    needing = Counter(
        Document.objects.needing_site().filter(packet__in=shown).values_list("packet", flat=True)
    )
    has_worker = host_heartbeat.is_any_running()
    return [
        (packet, PacketProgress(counts[packet.pk], needing[packet.pk], has_worker=has_worker))
        for packet in shown
    ]
