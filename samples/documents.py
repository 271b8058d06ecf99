"""One sample document: type, site, rendition and fault to bytes."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta

from samples.document_facts import Dates, Dossier
from samples.faults import Fault, spoil_file, with_blank_page
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import SITES, SampleSite
from samples.renditions import SCANS, Rendition, scan


def specimen(  # noqa: PLR0913 - each is named where it is called
    document_type: str,
    *,
    today: date,
    site: SampleSite = SITES[0],
    rendition: Rendition = Rendition.BORN_DIGITAL,
    fault: Fault | None = None,
    seed: int = 2026,
    boxes: Mapping[int, str] | None = None,
) -> bytes:
    """Sound at `today` but for `fault`. A born-digital one takes milliseconds, a scan a few tenths.

    `boxes`: of Form FDA 1572, what stands in a box instead; see `Dossier`. Raises ValueError for a
    rendition or fault that this type of document cannot have.
    """
    if rendition is Rendition.FILLABLE_FORM and document_type not in FILLABLE:
        raise ValueError(f"{document_type} is not made as a fillable form")
    if fault is Fault.EXPIRED and document_type not in EXPIRING:
        raise ValueError(f"{document_type} does not expire")
    chance = f"{seed} {site.site_id} {document_type}"
    dossier = _dossier(site, rendition, fault, today=today, chance=chance)
    content = PAGES[document_type](replace(dossier, boxes=boxes or {}))
    if fault is Fault.BLANK_PAGE:
        content = with_blank_page(content)
    if rendition in SCANS:
        content = scan(content, seed=chance, rendition=rendition)
    return spoil_file(content, fault)


def _dossier(
    site: SampleSite, rendition: Rendition, fault: Fault | None, *, today: date, chance: str
) -> Dossier:
    named = neighbour(site) if fault is Fault.WRONG_SITE else site
    protocol = today - timedelta(days=named.study.version_age_days)
    rng = random.Random(f"{chance} dates")
    return Dossier(
        site=named,
        dates=Dates.around(today, protocol, rng, expired=fault is Fault.EXPIRED),
        seed=chance,
        signed=fault is not Fault.UNSIGNED,
        fillable=rendition is Rendition.FILLABLE_FORM,
    )


def neighbour(site: SampleSite) -> SampleSite:
    """Another site of the same study: whose papers are most easily mixed up with this one's."""
    others = [entry for entry in SITES if entry.study == site.study and entry != site]
    return next((entry for entry in others if entry.site_id > site.site_id), others[0])
