"""Creates chunks for documents that are queued again, and ranks the new chunks of a site."""

from collections.abc import Iterable

from django.db.models import Max

from ingestion.models import Batch, Chunk
from sites.models import Site


def create_requeue_chunk(batch: Batch, site: Site) -> Chunk:
    """Create a chunk for documents that are queued again. It ranks behind the site's others."""
    rank = compute_start_ranks([site], batch.priority)[site.pk] + batch.priority
    return Chunk.objects.create(batch=batch, site=site, rank=rank, is_urgent=batch.is_urgent)


def compute_start_ranks(sites: Iterable[Site], priority: int) -> dict[int, float]:
    """Return the rank after which new chunks of each site are queued, by primary key.

    Ranks are virtual times (self-clocked fair queueing, Golestani 1994). A new chunk ranks behind
    the site's own waiting chunks that are as urgent or more urgent, and never before the chunk that
    was leased last. So a site with many documents waits behind itself, a site that sends them in
    small portions gains no advantage, and no stream of urgent chunks can delay other chunks for
    ever, because chunks that arrive later rank later.
    """
    own = (
        Chunk.objects.waiting()
        .filter(site__in=list(sites), batch__priority__lte=priority)
        .order_by()
        .values_list("site")
        .annotate(Max("rank"))
    )
    last_ranks, now = dict(own), Chunk.objects.virtual_time()
    return {site.pk: max(now, last_ranks.get(site.pk, 0.0)) for site in sites}
