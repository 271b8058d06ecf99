"""Makes documents of generated sites with their true values. No two have the same numbers."""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta

from ingestion.reading.results import DocumentReading
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.checks.verdict import check
from ingestion.rules.fields.values import FieldValue
from samples.document_facts import DocumentFacts, PacketDates
from samples.layouts.standard import list_values
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
    values, days = list_values(kind, facts)
    return {**values, **{name: str(day) for name, day in days.items()}}
