"""Shows the start page of coordinators, `/`: documents that need an action, and packets."""

from collections import Counter
from collections.abc import Iterable

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.core.states import DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.documents.portal_sources import find_sites_to_upload
from ingestion.models import Document, Packet
from sites.models import Site
from web.documents.outcomes import list_needing_action
from web.packets.progress import PacketProgress
from web.shell.access import READ, SignedIn, restrict_page
from web.shell.landing import start_page

PACKETS_PER_PAGE = 15


@restrict_page(READ)
def home(request: SignedIn) -> HttpResponse:
    """Show the start page of a coordinator. Redirect staff to the start page of their role."""
    if request.user.is_staff:
        return redirect(start_page(request.user))
    waiting = Document.objects.visible_to(request.user).needing_site()
    rows = Packet.objects.visible_to(request.user).select_related("site", "batch__submitted_by")
    packets = Paginator(rows, PACKETS_PER_PAGE).get_page(request.GET.get("page"))
    own_sites = Site.objects.of(request.user)
    context = {
        "has_site": own_sites.exists(),
        "sites_of_silent_portals": find_sites_to_upload(own_sites),
        "waiting": list_needing_action(waiting),
        "waiting_count": waiting.count(),
        "page": packets,
        "packets": _add_progress(packets.object_list),
    }
    return render(request, "home.html", context)


def _add_progress(packets: Iterable[Packet]) -> list[tuple[Packet, PacketProgress]]:
    """Return each packet with its progress. The number of queries does not depend on theirs."""
    packets = list(packets)
    counts: dict[int, dict[DocumentState, int]] = {packet.pk: {} for packet in packets}
    states = Document.objects.filter(packet__in=packets).order_by().values_list("packet", "state")
    for packet_key, state, number in states.annotate(Count("pk")):
        counts[packet_key][DocumentState(state)] = number
    needing_site = Document.objects.needing_site().filter(packet__in=packets)
    needing = Counter(needing_site.values_list("packet", flat=True))
    has_worker = host_heartbeat.is_any_running()
    return [
        (packet, PacketProgress(counts[packet.pk], needing[packet.pk], has_worker=has_worker))
        for packet in packets
    ]
