"""Documents of generated sites with their true values. No two have the same numbers."""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta

from ingestion.reading.results import DocumentReading
from ingestion.rules.checks.verdict import (
    SCHEMA_VERSIONS,
    SenderFacts,
    SiteFacts,
    check,
)
from ingestion.rules.fields.extraction import FieldValue
from samples.document_facts import DocumentFacts, PacketDates
from samples.pages import PAGES
from samples.people_and_sites import SITES, SamplePerson, SampleSite

FIRST_DAY = date(2025, 1, 1)
DAYS = 700  # after the first, over which the documents are spread
PEOPLE = [person for site in SITES for person in (site.investigator, *site.team)]


@dataclass(frozen=True, slots=True)
class BenchDocument:
    """A born-digital document. `values` are the true values of its type's fields, by name."""

    kind: str
    content: bytes
    site: SampleSite
    today: date
    values: Mapping[str, str]

    def fields(self, reading: DocumentReading) -> Mapping[str, FieldValue]:
        """Return the fields that the rules extract from a reading of it, by name."""
        site = SiteFacts(self.site.site_id, self.site.study.protocol_number, self.site.hospital)
        sent = SenderFacts(SCHEMA_VERSIONS[-1], self.kind)
        verdict = check(reading, sent, site=site, today=self.today)
        return {value.name: value for value in verdict.fields}


def make_documents(count: int, seed: str) -> Iterator[BenchDocument]:
    """Yield documents of each type in turn, which are the same for the same seed."""
    rng = random.Random(seed)
    for number in range(count):
        kind = list(PAGES)[number % len(PAGES)]
        site = _make_site(rng)
        today = FIRST_DAY + timedelta(days=rng.randrange(DAYS))
        protocol = today - timedelta(days=site.study.version_age_days)
        dates = PacketDates.around(today, protocol, rng)
        facts = DocumentFacts(site=site, dates=dates, seed=f"{seed} {number}")
        yield BenchDocument(kind, PAGES[kind](facts), site, today, _true_values(kind, facts))


def _make_site(rng: random.Random) -> SampleSite:
    """Return one of the sample sites with another investigator and other numbers."""
    site, investigator = rng.choice(SITES), rng.choice(PEOPLE)
    return replace(
        site,
        site_id=_replace_digits("1000", rng),
        study=replace(site.study, protocol_number=_replace_digits("SLX-100", rng)),
        investigator=SamplePerson(
            investigator.name, investigator.degrees, "Principal Investigator"
        ),
        licence=replace(site.licence, number=_replace_digits(site.licence.number, rng)),
        laboratory=replace(site.laboratory, clia=_replace_digits(site.laboratory.clia, rng)),
        board=replace(
            site.board,
            registration=_replace_digits(site.board.registration, rng),
            assurance=_replace_digits(site.board.assurance, rng),
        ),
    )


def _replace_digits(number: str, rng: random.Random) -> str:
    return re.sub(r"\d", lambda _: str(rng.randint(1, 9)), number)


def _true_values(kind: str, facts: DocumentFacts) -> Mapping[str, str]:
    site, dates = facts.site, facts.dates
    study, lab, person = site.study, site.laboratory, site.investigator.printed
    common = {"protocol_number": study.protocol_number, "site_number": site.site_id}
    signed = {"signature_date": dates.signature}
    values: dict[str, Mapping[str, str | date]] = {
        "protocol-signature-page": {
            **common, **signed, "investigator": person, "protocol_version": study.version,
        },
        "irb-approval": {
            **common, "investigator": person, "protocol_version": study.version,
            "approval_date": dates.approval, "expiry_date": dates.approval_ends,
            "irb_registration": site.board.registration, "fwa_number": site.board.assurance,
            "signature_date": dates.approval,
        },
        "form-fda-1572": {
            **common, **signed, "investigator": person,
            "form_edition": "3/19", "omb_expiry": date(2022, 3, 31),
        },
        "cv": {**signed, "person": person, "site_number": site.site_id},
        "medical-licence": {
            "person": person, "site_number": site.site_id, "licence_number": site.licence.number,
            "effective_date": dates.licence_issued, "expiry_date": dates.licence_ends,
        },
        "gcp-certificate": {
            "person": person, "site_number": site.site_id,
            "completion_date": dates.gcp_completed, "expiry_date": dates.gcp_ends,
        },
        "lab-certification": {
            "lab_name": f"{lab.name}, {site.hospital}", "clia_number": lab.clia,
            "effective_date": dates.clia_effective, "expiry_date": dates.clia_ends,
            "site_number": site.site_id,
        },
        "lab-normal-ranges": {
            **signed, "lab_name": f"{lab.name} (CLIA {lab.clia})", "version": "4",
            "effective_date": dates.ranges_effective, "site_number": site.site_id,
        },
        "financial-disclosure": {**common, **signed, "investigator": person},
        "delegation-log": {**common, **signed, "investigator": person},
    }  # fmt: skip
    return {name: str(value) for name, value in values[kind].items()}
