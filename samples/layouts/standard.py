"""Makes specimens from the layouts of the sample corpus, with their values."""

import random
from collections.abc import Mapping
from datetime import date, timedelta

from samples.document_facts import (
    DocumentFacts,
    PacketDates,
    format_numeric_date,
    format_short_date,
)
from samples.pages import PAGES
from samples.people_and_sites import SITES


def make_standard(
    slug: str, seed: int, today: date
) -> tuple[bytes, Mapping[str, str], Mapping[str, date]]:
    """Return the PDF of a document of the sample corpus, its values, and those that are dates."""
    site = SITES[seed % len(SITES)]
    protocol = today - timedelta(days=site.study.version_age_days)
    rng = random.Random(f"{seed} {site.site_id} {slug} dates")
    facts = DocumentFacts(
        site=site,
        dates=PacketDates.around(today, protocol, rng),
        seed=f"{seed} {site.site_id} {slug}",
    )
    values, days = list_values(slug, facts)
    is_short = {"signature_date"}
    if slug == "lab-normal-ranges":
        is_short.add("effective_date")
    form = format_numeric_date if slug == "form-fda-1572" else format_short_date
    printed = {
        name: form(day) if name in is_short else facts.day(day) for name, day in days.items()
    }
    return PAGES[slug](facts), {**values, **printed}, days


def list_values(slug: str, facts: DocumentFacts) -> tuple[Mapping[str, str], Mapping[str, date]]:
    """Return the values that a document of the sample corpus shows, and those that are dates."""
    site, dates = facts.site, facts.dates
    study, lab, person = site.study, site.laboratory, site.investigator.printed
    numbers = {"protocol_number": study.protocol_number, "site_number": site.site_id}
    leader = {**numbers, "investigator": person}
    own = {"site_number": site.site_id, "person": person}
    signed = {"signature_date": dates.signature}
    values: dict[str, tuple[Mapping[str, str], Mapping[str, date]]] = {
        "protocol-signature-page": ({**leader, "protocol_version": study.version}, signed),
        "irb-approval": (
            {
                **leader,
                "protocol_version": study.version,
                "irb_registration": site.board.registration,
                "fwa_number": site.board.assurance,
            },
            {
                "approval_date": dates.approval,
                "expiry_date": dates.approval_ends,
                "signature_date": dates.approval,
            },
        ),
        "form-fda-1572": (
            {**leader, "form_edition": "3/19"},
            {**signed, "omb_expiry": date(2022, 3, 31)},
        ),
        "cv": (own, signed),
        "medical-licence": (
            {**own, "licence_number": site.licence.number},
            {"effective_date": dates.licence_issued, "expiry_date": dates.licence_ends},
        ),
        "gcp-certificate": (
            own,
            {"completion_date": dates.gcp_completed, "expiry_date": dates.gcp_ends},
        ),
        "lab-certification": (
            {
                "site_number": site.site_id,
                "lab_name": f"{lab.name}, {site.hospital}",
                "clia_number": lab.clia,
            },
            {"effective_date": dates.clia_effective, "expiry_date": dates.clia_ends},
        ),
        "lab-normal-ranges": (
            {
                "site_number": site.site_id,
                "lab_name": f"{lab.name} (CLIA {lab.clia})",
                "version": "4",
            },
            {**signed, "effective_date": dates.ranges_effective},
        ),
        "financial-disclosure": (leader, signed),
        "delegation-log": (leader, signed),
    }
    return values[slug]
