"""Makes the values that a specimen prints from a seed: a study, a site, its people and dates.

All of it is fictitious. The same seed gives the same site for every document type, so that
specimens of one seed fit together as the packet of one site.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from samples.document_facts import find_anniversary

TODAY = date(2026, 11, 20)  # on which specimens are valid, unless the caller names another day

_GIVEN = (
    "Adaeze", "Amelia", "Anders", "Anika", "Arthur", "Beatriz", "Benjamin", "Bruno", "Camille",
    "Carlos", "Charlotte", "Chen", "Colin", "Daniela", "Deborah", "Dmitri", "Edith", "Eamon",
    "Elif", "Emeka", "Esther", "Farah", "Fiona", "Franklin", "Gabriela", "George", "Hamish",
    "Hanna", "Henrik", "Imogen", "Ingrid", "Isaac", "Jasper", "Jia", "Joanne", "Julian", "Kavita",
    "Kenji", "Lara", "Leon", "Lucia", "Malcolm", "Marta", "Mei", "Miriam", "Nadia", "Nathan",
    "Oluwaseun", "Oscar", "Patricia", "Paulo", "Petra", "Rajesh", "Rebecca", "Rosalind", "Samuel",
    "Sanjay", "Silvia", "Sofia", "Stephen", "Tamsin", "Theodore", "Uma", "Vera", "Walter", "Xenia",
    "Yasmin", "Zoltan",
)  # fmt: skip
_FAMILY = (
    "Abernethy", "Adeyemi", "Almeida", "Anand", "Arkwright", "Bakshi", "Barlow", "Beaumont",
    "Bergstrom", "Bianchi", "Brackley", "Calloway", "Carmody", "Castellan", "Chaudhuri", "Crane",
    "Dalgleish", "Delacroix", "Desai", "Donnelly", "Eastwood", "Ekström", "Farnham", "Ferreira",
    "Fitzgerald", "Galvin", "Ghosh", "Greenhalgh", "Haddad", "Halloran", "Hartmann", "Hewitt",
    "Ibarra", "Iyer", "Jankowski", "Kapoor", "Kilbride", "Kowalska", "Lamont", "Lindgren",
    "Loughlin", "MacAllister", "Marchetti", "Mbeki", "McKenna", "Mendoza", "Nakamura", "Nkosi",
    "O'Donovan", "Okonkwo", "Oyelaran", "Pennington", "Petrov", "Quayle", "Ramanathan", "Renshaw",
    "Rosenthal", "Sandoval", "Schreiber", "Shah", "Sutherland", "Takahashi", "Thackeray", "Tran",
    "Underhill", "Van der Berg", "Vasquez", "Wainwright", "Weatherby", "Whitlock", "Yilmaz",
    "Zielinski",
)  # fmt: skip
_PLACES = (
    "Alder Creek", "Ashgrove", "Bellhaven", "Birchmere", "Brookhollow", "Calder Vale", "Clearwater",
    "Copper Ridge", "Dunmore", "Eastleigh Park", "Elmstead", "Fairmont", "Fenwick", "Glenrowan",
    "Greystone", "Harrow Bay", "Hazelbrook", "Heathfield", "Ironbark", "Juniper Falls", "Kestrel",
    "Kingsbridge", "Lakemoor", "Larkspur", "Lindenwood", "Marlow", "Millbrook", "Northfield",
    "Oakhurst", "Orchard Hill", "Pinecrest", "Ravenswood", "Redcliff", "Rosedale", "Silverton",
    "Stonebridge", "Summerfield", "Thornbury", "Valley Forge East", "Westmarch", "Willow Run",
    "Wyndham",
)  # fmt: skip
_SPONSORS = (
    "Aldermere Pharma Ltd", "Borealis Biosciences, Inc.", "Calyx Ridge Therapeutics, Inc.",
    "Dovetail Biologics GmbH", "Everline Medical AG", "Fathom Oncology, Inc.",
    "Halcyon Vaccines B.V.", "Kitewood Pharmaceuticals, Inc.", "Meridian Cove Biotech, LLC",
    "Norrland Läkemedel AB", "Osprey Immune Sciences, Inc.", "Pelham Cardio, Inc.",
)  # fmt: skip
_CROS = (
    "Trellis Clinical Research",
    "Northlight CRO",
    "Waymark Clinical Services",
    "Linden Trials",
)
_PRODUCTS = (
    "albrutinib", "belcotamab", "CRX-4410", "dorzelisib", "ENV-207", "fentrasiran", "gadrolimus",
    "HLX-18", "imprevastat", "KV-5512", "lorvacimab", "MZ-0093", "nalurafib", "OSP-301",
)  # fmt: skip
_CONDITIONS = (
    "chronic kidney disease", "early Parkinson's disease", "moderate persistent asthma",
    "heart failure with reduced ejection fraction", "metastatic colorectal cancer",
    "plaque psoriasis", "relapsing multiple sclerosis", "rheumatoid arthritis",
    "treatment-resistant depression", "type 2 diabetes mellitus", "ulcerative colitis",
    "postpartum haemorrhage", "osteoarthritis of the knee",
)  # fmt: skip
_TITLES = (
    "A Phase 3, Randomized, Double-Blind, Placebo-Controlled Study of {product} in {condition}",
    "A Phase 2, Open-Label, Multicentre Study of {product} in Patients with {condition}",
    "{product} versus standard of care in {condition}: a pragmatic randomised trial",
    "A Randomized Dose-Ranging Study of {product} in Participants with {condition}",
    "Long-term outcomes of {product} in people with {condition}: an extension study",
)
_DEPARTMENTS = (
    "Department of Medicine", "Department of Neurology", "Division of Cardiology",
    "Department of Oncology", "School of Nursing", "Clinical Research Unit",
    "Department of Psychiatry", "Department of Public Health Sciences", "Division of Rheumatology",
    "Department of Paediatrics", "School of Health Sciences",
)  # fmt: skip
_ROLES = (
    "Sub-Investigator", "Study Coordinator", "Research Nurse", "Study Pharmacist",
    "Data Manager", "Sub-Investigator",
)  # fmt: skip
_STREETS = (
    "Chestnut Street", "Harbour Road", "Hospital Drive", "Kings Avenue", "Lakeside Boulevard",
    "Mill Lane", "Park Terrace", "Queen Street", "Station Road", "University Avenue",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Country:
    """Describes the documents of a country: their places, institutions, committees and dates."""

    name: str
    towns: tuple[str, ...]  # with their postal codes
    institutions: tuple[str, ...]  # patterns of names of institutions
    committees: tuple[str, ...]  # patterns of names of ethics committees
    doctor: str  # the degree behind the name of a physician
    dates: str  # the usual style of dates
    is_letter: bool = False  # paper of Letter size, and not A4


COUNTRIES: Mapping[str, Country] = {
    "US": Country(
        "United States",
        ("Dayton, OH 45402", "Boise, ID 83702", "Albany, NY 12207", "Macon, GA 31201",
         "Fresno, CA 93721", "Amarillo, TX 79101", "Duluth, MN 55802", "Eugene, OR 97401"),
        ("{place} University", "University of {place}", "{place} Medical Center",
         "{place} State University", "{place} Health System", "{place} Clinical Research, LLC"),
        ("{institution} Institutional Review Board", "Institutional Review Board",
         "{place} Independent Review Board", "{institution} IRB", "Biomedical IRB Committee A",
         "Human Subjects Institutional Review Board"),
        "MD", "us", is_letter=True,
    ),
    "UK": Country(
        "United Kingdom",
        ("Leeds LS2 9JT", "Cardiff CF10 3AT", "Exeter EX4 4QJ", "Dundee DD1 4HN",
         "Norwich NR4 7TJ", "Belfast BT7 1NN"),
        ("University of {place}", "{place} NHS Foundation Trust", "{place} Royal Infirmary",
         "{place} College"),
        ("{place} Research Ethics Committee", "{institution} Research Ethics Committee",
         "North {place} Research Ethics Committee", "Faculty Research Ethics Committee"),
        "MBBS", "uk",
    ),
    "CA": Country(
        "Canada",
        ("Halifax, NS B3H 1V7", "Kingston, ON K7L 2V7", "Saskatoon, SK S7N 0W8",
         "Victoria, BC V8W 2Y2"),
        ("{place} University", "University of {place}", "{place} Health Sciences Centre",
         "{place} General Hospital"),
        ("{institution} Research Ethics Board", "{place} Health Research Ethics Board",
         "Biomedical Research Ethics Board"),
        "MD FRCPC", "us", is_letter=True,
    ),
    "AU": Country(
        "Australia",
        ("Ballarat VIC 3350", "Hobart TAS 7000", "Townsville QLD 4810", "Bunbury WA 6230"),
        ("The University of {place}", "{place} Hospital and Health Service", "{place} Health",
         "{place} Medical Research Institute"),
        ("{institution} Human Research Ethics Committee",
         "{place} Human Research Ethics Committee", "Human Research Ethics Committee (Medical)"),
        "MBBS FRACP", "uk",
    ),
    "EU": Country(
        "Ireland",
        ("Galway H91 TK33", "Limerick V94 T9PX", "Cork T12 K8AF", "Dublin D08 W9RT"),
        ("{place} University Hospital", "University of {place}", "St. Brigid's Hospital {place}"),
        ("Ethics Committee of {institution}", "{place} Clinical Research Ethics Committee",
         "Independent Ethics Committee {place}"),
        "MD PhD", "uk",
    ),
    "IN": Country(
        "India",
        ("Pune 411001", "Mysuru 570001", "Kochi 682011", "Nagpur 440012"),
        ("{place} Institute of Medical Sciences", "{place} Medical College and Hospital"),
        ("Institutional Ethics Committee, {institution}", "{institution} Ethics Committee"),
        "MD", "dmy",
    ),
}  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def print_date(day: date, style: str) -> str:
    """Return a date as it is printed in a style. Raises KeyError for an unknown style."""
    month = _MONTHS[day.month - 1]
    return {
        "us": f"{month} {day.day}, {day.year}",
        "uk": f"{day.day} {month} {day.year}",
        "dmy": f"{day.day:02}-{month[:3]}-{day.year}",
        "d mon y": f"{day.day:02} {month[:3]} {day.year}",
        "mdy": f"{day.month:02}/{day.day:02}/{day.year}",
        "m/d/y": f"{day.month}/{day.day}/{day.year}",
        "d/m/y": f"{day.day:02}/{day.month:02}/{day.year}",
        "d.m.y": f"{day.day:02}.{day.month:02}.{day.year}",
        "iso": day.isoformat(),
        "my": f"{day.month:02}/{day.year}",
        "y": str(day.year),
        "ordinal": f"{day.day}{_ordinal(day.day)} {month}, {day.year}",
    }[style]


def _ordinal(number: int) -> str:
    if number in {11, 12, 13}:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


@dataclass(frozen=True, slots=True)
class Person:
    """A person, whose name documents print in several forms."""

    given: str
    family: str
    degrees: str
    title: str = "Dr."

    def printed(self, form: str) -> str:
        """Return the name in a form. Raises KeyError for an unknown form."""
        return {
            "": f"{self.given} {self.family}, {self.degrees}",
            "plain": f"{self.given} {self.family}",
            "caps": f"{self.given} {self.family}".upper(),
            "dr": f"{self.title} {self.given} {self.family}",
            "last": self.family,
            "drlast": f"{self.title} {self.family}",
            "first": self.given,
            "inv": f"{self.family}, {self.given}",
            "initials": f"{self.given[0]}{self.family[0]}",
            "mail": f"{self.given[0].lower()}{''.join(filter(str.isalpha, self.family.lower()))}",
            "user": f"{self.given[:4].lower()}.{self.family[:6].lower()}".replace(" ", ""),
        }[form]


Values = Mapping[str, "str | date | Person"]


@lru_cache(maxsize=256)
def make_values(seed: int, country: str = "", today: date = TODAY) -> Values:
    """Return the values of a seed by name.

    `country` is a key of COUNTRIES; "": one that the seed chooses. The names of the values are
    those of the fields of document types, where there is such a field.
    """
    rng = random.Random(f"specimen {seed}")
    key = country or rng.choices(list(COUNTRIES), weights=(6, 3, 2, 2, 2, 1))[0]
    place, other_place, family = rng.choice(_PLACES), rng.choice(_PLACES), rng.sample(_FAMILY, 16)
    given = rng.sample(_GIVEN, 16)
    rng = random.Random(f"specimen {seed} {key}")
    where = COUNTRIES[key]
    institution = rng.choice(where.institutions).format(place=place)
    town = rng.choice(where.towns)
    product, condition = rng.choice(_PRODUCTS), rng.choice(_CONDITIONS)

    def person(place: int, degrees: str, title: str = "Dr.") -> Person:
        return Person(given[place], family[place], degrees, title)

    def digits(count: int) -> str:
        return str(rng.randint(10 ** (count - 1), 10**count - 1))

    title = "Dr" if key in {"UK", "AU", "EU"} else "Dr."
    board = rng.choice(where.committees).format(place=other_place, institution=institution)
    people: dict[str, str | date | Person] = {
        "investigator": person(0, where.doctor, title),
        "person": person(0, where.doctor, title),
        "chair": person(1, "PhD", rng.choice(("Dr.", "Prof.", "Professor"))),
        "administrator": person(2, "MA, CIP", rng.choice(("Ms.", "Mr."))),
        "lab_director": person(3, "MD"),
        "monitor": person(4, "MSc"),
        "registrar": person(5, "MPA"),
        "sponsor_signer": person(6, "PhD"),
        "pharmacist": person(7, "PharmD"),
        "trainer": person(8, "RN"),
        "member1": person(13, "PhD"),
        "member2": person(14, "JD"),
        "member3": person(15, "RN"),
    }
    degrees = ("MD", "RN", "BSN", "PharmD", "BSc", "DO")
    for number in range(1, 5):
        people[f"staff{number}"] = person(8 + number, degrees[number])
        people[f"role{number}"] = _ROLES[number - 1]
    facts: dict[str, str | date | Person] = {
        "country": where.name,
        "date_style": where.dates,
        "paper": "letter" if where.is_letter else "a4",
        "institution": institution,
        "acronym": "".join(word[0] for word in institution.split() if word[0].isupper()),
        "department": rng.choice(_DEPARTMENTS),
        "street": f"{rng.randint(2, 980)} {rng.choice(_STREETS)}",
        "town": town,
        "place": place,
        "hospital": f"{other_place} {rng.choice(('Hospital', 'Medical Centre', 'Clinic'))}",
        "phone": f"555-01{rng.randint(10, 99)}",
        "domain": f"{place.lower().replace(' ', '')}.example.org",
        "irb_name": board,
        "irb_registration": f"IRB{rng.randint(99000300, 99000999):08}",
        "fwa_number": f"FWA{rng.randint(99000300, 99000999):08}",
        "sponsor": rng.choice(_SPONSORS),
        "cro": rng.choice(_CROS),
        "product": product,
        "condition": condition,
        "protocol_title": rng.choice(_TITLES).format(product=product, condition=condition),
        "protocol_number": rng.choice(
            (f"{product[:3].upper()}-{digits(3)}", f"{product[:2].upper()}{digits(4)}-{digits(2)}")
        ).replace(" ", ""),
        "protocol_version": rng.choice(("1.0", "2.0", "2.1", "3.0", "4.0")),
        "amendment_number": rng.choice(("1", "2", "3")),
        "brochure_edition": rng.choice(("5", "6", "7.0", "8")),
        "version": rng.choice(("1.0", "1.2", "2.0", "3.1")),
        "site_number": digits(rng.choice((3, 4))),
        "ref": f"{rng.choice(('', 'HS-', 'STUDY', '20-', 'R'))}{digits(5)}",
        "ref2": f"{today.year % 100}/{place[:2].upper()}/{digits(4)}",
        "licence_number": rng.choice((f"{digits(6)}", f"MD{digits(5)}", f"A-{digits(6)}")),
        "clia_number": f"{rng.choice(('36', '10', '45', '05'))}D99{digits(5)}",
        "lab_number": digits(7),
        "lab_name": rng.choice(
            (f"{place} Clinical Laboratory", f"{other_place} Pathology", f"{place} Diagnostics")
        ),
        "policy_number": f"{rng.choice(('CT', 'LS', 'PL'))}-{digits(7)}",
        "insurer": rng.choice(
            ("Harbourgate Insurance Company", "Sentinel Mutual Assurance", "Kronberg Versicherung")
        ),
        "batch_number": f"{rng.choice('BCL')}{digits(5)}",
        "kit1": digits(5), "kit2": digits(5), "kit3": digits(5), "kit4": digits(5),
        "subject1": f"{rng.randint(1, 9)}01", "subject2": "102", "subject3": "103",
        "subject4": "104",
        "shipment_number": f"SH{digits(6)}",
        "serial_number": f"{rng.choice('KMT')}{digits(6)}",
        "record": digits(8),
        "authority_reference": f"{today.year}-5{digits(5)}-{digits(2)}-00",
        "control_number": digits(6),
        "ind": digits(6),
    }  # fmt: skip
    return {**people, **facts, **_make_dates(rng, today)}


def _make_dates(rng: random.Random, today: date) -> dict[str, date]:
    """Return dates that are consistent, and valid at `today`."""

    def before(min_days: int, max_days: int) -> date:
        return today - timedelta(days=rng.randint(min_days, max_days))

    approval, completion, effective = before(40, 150), before(60, 500), before(60, 300)
    visit, signature = before(20, 60), before(5, 40)
    return {
        "approval_date": approval,
        "meeting_date": approval - timedelta(days=rng.randint(1, 9)),
        "letter_date": approval + timedelta(days=rng.randint(0, 3)),
        "received_date": approval - timedelta(days=rng.randint(12, 40)),
        "decision_date": approval,
        "determination_date": approval,
        "expiry_date": find_anniversary(approval, 1) - timedelta(days=1),
        "previous_date": find_anniversary(approval, -1),
        "completion_date": completion,
        "course_expiry": find_anniversary(completion, 3),
        "effective_date": effective,
        "two_years": find_anniversary(effective, 2) - timedelta(days=1),
        "signature_date": signature,
        "version_date": before(120, 400),
        "training_date": before(20, 80),
        "visit_date": visit,
        "visit_date2": visit + timedelta(days=5),
        "visit_date3": visit + timedelta(days=11),
        "next_visit": today + timedelta(days=rng.randint(20, 60)),
        "shipment_date": visit - timedelta(days=6),
        "receipt_date": visit - timedelta(days=4),
        "destruction_date": signature,
        "analysis_date": before(90, 300),
        "batch_expiry": today + timedelta(days=rng.randint(200, 700)),
        "calibration_date": before(20, 120),
        "calibration_due": today + timedelta(days=rng.randint(150, 320)),
        "notification_date": signature,
        "note_date": signature,
        "statement_date": effective,
        "document_date": signature,
        "birth": date(1956 + rng.randint(0, 25), rng.randint(1, 12), rng.randint(1, 28)),
        "graduation": date(1990 + rng.randint(0, 20), 6, 15),
        "today": today,
    }
