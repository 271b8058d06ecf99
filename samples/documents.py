"""Make one sample document from its type, site, rendition and fault."""

import random
from collections.abc import Mapping
from datetime import date, timedelta

from samples.document_facts import DocumentFacts, PacketDates
from samples.faults import DocumentFault, insert_blank_page, spoil_file
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import SITES, SampleSite
from samples.renditions import SCANS, Rendition, make_scan


def make_sample(  # noqa: PLR0913 - keyword arguments
    document_type: str,
    *,
    today: date,
    site: SampleSite = SITES[0],
    rendition: Rendition = Rendition.BORN_DIGITAL,
    fault: DocumentFault | None = None,
    seed: int = 2026,
    boxes: Mapping[int, str] | None = None,
) -> bytes:
    """Return the bytes of a document that is correct at `today` except for `fault`.

    A born-digital document takes milliseconds, a scan a few tenths of a second. `boxes` replaces
    the content of boxes of Form FDA 1572 (see `DocumentFacts`). Raises ValueError for a rendition
    or a fault that this type of document cannot have.
    """
    if rendition is Rendition.FILLABLE_FORM and document_type not in FILLABLE:
        raise ValueError(f"{document_type} is not made as a fillable form")
    if fault is DocumentFault.EXPIRED and document_type not in EXPIRING:
        raise ValueError(f"{document_type} does not expire")
    document_seed = f"{seed} {site.site_id} {document_type}"
    named_site = find_neighbour(site) if fault is DocumentFault.WRONG_SITE else site
    facts = DocumentFacts(
        site=named_site,
        dates=PacketDates.around(
            today,
            today - timedelta(days=named_site.study.version_age_days),
            random.Random(f"{document_seed} dates"),
            expired=fault is DocumentFault.EXPIRED,
        ),
        seed=document_seed,
        signed=fault is not DocumentFault.UNSIGNED,
        fillable=rendition is Rendition.FILLABLE_FORM,
        boxes=boxes or {},
    )
    content = PAGES[document_type](facts)
    if fault is DocumentFault.BLANK_PAGE:
        content = insert_blank_page(content)
    if rendition in SCANS:
        content = make_scan(content, seed=document_seed, rendition=rendition)
    return spoil_file(content, fault)


def find_neighbour(site: SampleSite) -> SampleSite:
    """Return another site of the same study, whose documents are most easily confused."""
    others = [entry for entry in SITES if entry.study == site.study and entry != site]
    return next((entry for entry in others if entry.site_id > site.site_id), others[0])
