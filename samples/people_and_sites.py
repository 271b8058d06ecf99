"""Lists the samples' studies, and twelve sites with their people, IRBs and laboratories.

All of it is fictitious: registration numbers are outside the ranges in use, telephone numbers are
in the range reserved for fiction, and internet addresses are under example.org.
"""

from dataclasses import dataclass
from typing import Self

US = "United States"


@dataclass(frozen=True, slots=True)
class SamplePerson:
    """Describes a person of a site, an IRB or a laboratory."""

    name: str
    degrees: str
    role: str = "Sub-Investigator"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the person for a text such as `name, degrees, role`."""
        return cls(*text.split(", "))

    @property
    def printed(self) -> str:
        """Return the name with the degrees, as documents print it."""
        return f"{self.name}, {self.degrees}"

    @property
    def family_name(self) -> str:
        """Return the last word of the name."""
        return self.name.rsplit(" ", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleStudy:
    """Describes a study with its protocol, its product and its sponsor."""

    protocol_number: str
    title: str
    phase: int
    version: str
    version_age_days: int  # at `today`: the samples stay valid however late they are made
    ind: str
    product: str
    sponsor: str = "Selanex Therapeutics, Inc."
    sponsor_address: str = "400 Harbour Point Drive, Boston, MA 02110, United States"


@dataclass(frozen=True, slots=True)
class ReviewBoard:
    """Describes an institutional review board with its chair and its registrations."""

    name: str
    chair: SamplePerson
    registration: str  # IRB and eight digits
    assurance: str  # FWA and eight digits


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Describes a laboratory with its director and its CLIA number."""

    name: str
    director: SamplePerson
    clia: str  # two digits of the state (99 abroad), D, seven digits


@dataclass(frozen=True, slots=True)
class Licence:
    """Describes a medical licence, with the authority that issued it."""

    authority: str
    number: str
    registrar: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSite:
    """Describes a site with its study, its address, its people, its IRB and its laboratory."""

    site_id: str
    study: SampleStudy
    hospital: str
    department: str
    street: str
    city: str
    country: str
    investigator: SamplePerson
    team: tuple[SamplePerson, ...]
    board: ReviewBoard
    laboratory: Laboratory
    licence: Licence
    rate_per_second: float = 8.0  # what the site's portal allows
    burst: int = 4

    @property
    def address(self) -> str:
        """Return the address on one line."""
        return f"{self.street}, {self.city}, {self.country}"

    @property
    def is_american(self) -> bool:
        """Return whether the site is in the United States, where paper and dates differ."""
        return self.country == US

    @property
    def subinvestigators(self) -> tuple[SamplePerson, ...]:
        """Return the sub-investigators of the site's team."""
        return tuple(person for person in self.team if person.role == "Sub-Investigator")


SLX_301 = SampleStudy(
    protocol_number="SLX-301",
    title="A Phase 3, Randomized, Double-Blind, Placebo-Controlled Study to Evaluate the Efficacy"
    " and Safety of Selaxumab in Adults with Moderately to Severely Active Ulcerative Colitis",
    phase=3,
    version="3.0",
    version_age_days=566,
    ind="IND 990301",
    product="Selaxumab",
)
SLX_202 = SampleStudy(
    protocol_number="SLX-202",
    title="A Phase 2, Randomized, Open-Label Study of Two Dose Levels of Selaxumab in Adults with"
    " Crohn's Disease and Inadequate Response to Conventional Therapy",
    phase=2,
    version="2.1",
    version_age_days=603,
    ind="IND 990202",
    product="Selaxumab",
)


def _people(*texts: str) -> tuple[SamplePerson, ...]:
    return tuple(SamplePerson.parse(text) for text in texts)


def _board(name: str, chair: str, number: int) -> ReviewBoard:
    person = SamplePerson.parse(f"{chair}, Chair")
    return ReviewBoard(name, person, f"IRB{99000100 + number:08}", f"FWA{99000200 + number:08}")


def _laboratory(name: str, director: str, clia: str) -> Laboratory:
    return Laboratory(name, SamplePerson.parse(f"{director}, Laboratory Director"), clia)


SITES = (
    SampleSite(
        site_id="1001",
        study=SLX_301,
        hospital="Cedar Ridge Medical Center",
        department="Division of Gastroenterology",
        street="1820 Cedar Ridge Parkway",
        city="Columbus, OH 43215",
        country=US,
        investigator=SamplePerson("Margaret Whitfield", "MD", "Principal Investigator"),
        team=_people(
            "Daniel Okafor, MD, Sub-Investigator",
            "Priya Raman, MD PhD, Sub-Investigator",
            "Lauren Beck, RN CCRC, Study Coordinator",
            "Thomas Nguyen, PharmD, Study Pharmacist",
        ),
        board=_board("Cedar Ridge Institutional Review Board", "Harold Simmons, PhD", 1),
        laboratory=_laboratory("Cedar Ridge Core Laboratory", "Elaine Porter, MD", "36D9900101"),
        licence=Licence("Ohio Board of Medical Examiners", "OH-35.990142", "Janet R. Coleman"),
        rate_per_second=12.0,
        burst=5,
    ),
    SampleSite(
        site_id="1002",
        study=SLX_301,
        hospital="Harborview Clinical Research Institute",
        department="Department of Internal Medicine",
        street="77 Lighthouse Street, Suite 400",
        city="Portland, ME 04101",
        country=US,
        investigator=SamplePerson("Robert Castellano", "MD FACG", "Principal Investigator"),
        team=_people(
            "Hannah Lindqvist, DO, Sub-Investigator",
            "Megan Doyle, BSN RN, Study Coordinator",
            "Victor Salas, PharmD, Study Pharmacist",
        ),
        board=_board("New England Coastal Institutional Review Board", "Ruth Abernathy, JD", 2),
        laboratory=_laboratory("Harborview Diagnostics", "Samuel Whitaker, MD PhD", "20D9900102"),
        licence=Licence("Maine Board of Medical Examiners", "MD99027", "Peter L. Thibodeau"),
        rate_per_second=8.0,
    ),
    SampleSite(
        site_id="1003",
        study=SLX_301,
        hospital="Lakeshore University Hospital",
        department="Digestive Diseases Center",
        street="2400 North Lakeshore Avenue",
        city="Milwaukee, WI 53202",
        country=US,
        investigator=SamplePerson("Anita Deshmukh", "MD MPH", "Principal Investigator"),
        team=_people(
            "Gregory Palmer, MD, Sub-Investigator",
            "Olivia Brandt, PA-C, Sub-Investigator",
            "Kelly Sorensen, CCRP, Study Coordinator",
            "Marcus Hale, RPh, Study Pharmacist",
        ),
        board=_board("Lakeshore University Institutional Review Board", "Carol Jensen, PhD", 3),
        laboratory=_laboratory(
            "Lakeshore Clinical Laboratories", "Alan Forsythe, MD", "52D9900103"
        ),
        licence=Licence("Wisconsin Medical Licensing Board", "99417-20", "Denise M. Kowalke"),
        rate_per_second=4.0,
        burst=2,
    ),
    SampleSite(
        site_id="1004",
        study=SLX_301,
        hospital="Saguaro Valley Hospital",
        department="Gastroenterology and Hepatology",
        street="5150 East Desert Bloom Road",
        city="Tucson, AZ 85712",
        country=US,
        investigator=SamplePerson("Luis Herrera", "MD", "Principal Investigator"),
        team=_people(
            "Catherine Novak, MD, Sub-Investigator",
            "Rosa Delgado, RN, Study Coordinator",
            "Jeffrey Kim, PharmD, Study Pharmacist",
        ),
        board=_board("Sonoran Institutional Review Board", "William Tate, MD", 4),
        laboratory=_laboratory("Saguaro Valley Pathology", "Ingrid Olsen, MD", "03D9900104"),
        licence=Licence("Arizona Board of Medical Licensure", "AZ-990385", "Martha E. Quintero"),
        rate_per_second=10.0,
    ),
    SampleSite(
        site_id="1005",
        study=SLX_301,
        hospital="Maple Grove General Hospital",
        department="Department of Gastroenterology",
        street="350 Wellington Crescent",
        city="Toronto, ON M5V 2T6",
        country="Canada",
        investigator=SamplePerson("Claire Bouchard", "MD FRCPC", "Principal Investigator"),
        team=_people(
            "Arjun Mehta, MD FRCPC, Sub-Investigator",
            "Stephanie Roy, RN, Study Coordinator",
            "Paul Henderson, BScPhm, Study Pharmacist",
        ),
        board=_board("Maple Grove Research Ethics Board", "Judith Lavoie, PhD", 5),
        laboratory=_laboratory("Maple Grove Medical Laboratory", "Brian Cho, MD", "99D9900105"),
        licence=Licence("College of Medical Practitioners of Ontario", "CMPO 99318", "Ian Fraser"),
        rate_per_second=6.0,
    ),
    SampleSite(
        site_id="1006",
        study=SLX_301,
        hospital="Fraser Point Health Centre",
        department="Clinical Trials Unit",
        street="1188 Marine Way",
        city="Vancouver, BC V6B 4N9",
        country="Canada",
        investigator=SamplePerson("Kenneth Yamada", "MD FRCPC", "Principal Investigator"),
        team=_people(
            "Sarah MacLeod, MD, Sub-Investigator",
            "Jasmine Gill, CCRA, Study Coordinator",
            "Owen Fletcher, PharmD, Study Pharmacist",
        ),
        board=_board("Pacific Coast Research Ethics Board", "Douglas Reid, MD", 6),
        laboratory=_laboratory("Fraser Point Laboratories", "Helen Wong, MD PhD", "99D9900106"),
        licence=Licence("College of Medical Practitioners of BC", "CMPBC 99264", "Lorna Grant"),
        rate_per_second=9.0,
        burst=3,
    ),
    SampleSite(
        site_id="1007",
        study=SLX_301,
        hospital="Northmoor Royal Infirmary",
        department="Inflammatory Bowel Disease Unit",
        street="Northmoor Road",
        city="Leeds LS9 7XF",
        country="United Kingdom",
        investigator=SamplePerson("Eleanor Hartley", "MBBS FRCP PhD", "Principal Investigator"),
        team=_people(
            "James Pemberton, MBChB MRCP, Sub-Investigator",
            "Aisha Rahman, MBBS, Sub-Investigator",
            "Gillian Stokes, RGN, Study Coordinator",
            "David Clarke, MPharm, Study Pharmacist",
        ),
        board=_board("Northmoor Research Ethics Committee", "Philip Ashworth, MA", 7),
        laboratory=_laboratory(
            "Northmoor Pathology Services", "Fiona Blake, FRCPath", "99D9900107"
        ),
        licence=Licence("Medical Practitioners Council", "MPC 9904417", "Rosemary Dunn"),
        rate_per_second=5.0,
        burst=3,
    ),
    SampleSite(
        site_id="1008",
        study=SLX_301,
        hospital="St Brendan's Teaching Hospital",
        department="Department of Gastroenterology",
        street="14 Canal Quay",
        city="Cork T12 XK84",
        country="Ireland",
        investigator=SamplePerson("Niall Kavanagh", "MB BCh MRCPI", "Principal Investigator"),
        team=_people(
            "Grainne Foley, MB BCh, Sub-Investigator",
            "Mary Twomey, RGN, Study Coordinator",
            "Conor Walsh, MPharm, Study Pharmacist",
        ),
        board=_board("South Munster Research Ethics Committee", "Brigid Hanley, PhD", 8),
        laboratory=_laboratory("Canal Quay Clinical Laboratory", "Sean Barry, MD", "99D9900108"),
        licence=Licence("Irish Register of Practitioners", "IRP 990621", "Deirdre Moran"),
        rate_per_second=8.0,
    ),
    SampleSite(
        site_id="1009",
        study=SLX_202,
        hospital="Klinikum Lindenhof",
        department="Medizinische Klinik II, Gastroenterologie",
        street="Lindenhofallee 22",
        city="50931 Köln",
        country="Germany",
        investigator=SamplePerson("Stefan Albrecht", "Prof. Dr. med.", "Principal Investigator"),
        team=_people(
            "Jörg Brandt, Dr. med., Sub-Investigator",
            "Katrin Vogel, Dr. med., Sub-Investigator",
            "Sabine Keller, Study Nurse, Study Coordinator",
            "Matthias Lang, Apotheker, Study Pharmacist",
        ),
        board=_board("Ethics Committee of the Klinikum Lindenhof", "Ursula Hoffmann, Dr. jur.", 9),
        laboratory=_laboratory("Zentrallabor Lindenhof", "Bernd Richter, Dr. med.", "99D9900109"),
        licence=Licence("Chamber of Physicians Rhein-Linden", "RL 990877", "Monika Schreiber"),
        rate_per_second=7.0,
    ),
    SampleSite(
        site_id="1010",
        study=SLX_202,
        hospital="Waterland Medisch Centrum",
        department="Maag-, Darm- en Leverziekten",
        street="Dijkgraafplein 8",
        city="1069 EM Amsterdam",
        country="Netherlands",
        investigator=SamplePerson("Marieke Janssen", "MD PhD", "Principal Investigator"),
        team=_people(
            "Pieter Visser, MD, Sub-Investigator",
            "Annelies Bakker, RN, Study Coordinator",
            "Joost Mulder, PharmD, Study Pharmacist",
        ),
        board=_board("Medical Ethics Committee Waterland", "Hendrik Dekker, LLM", 10),
        laboratory=_laboratory("Waterland Laboratorium", "Femke Smit, MD PhD", "99D9900110"),
        licence=Licence("Register of Health Professions", "RHP 99045217", "Willem Prins"),
        rate_per_second=6.0,
    ),
    SampleSite(
        site_id="1011",
        study=SLX_202,
        hospital="Hospital Universitario Monteclaro",
        department="Servicio de Aparato Digestivo",
        street="Avenida de los Olivos 41",
        city="28034 Madrid",
        country="Spain",
        investigator=SamplePerson("Elena Marquez", "MD PhD", "Principal Investigator"),
        team=_people(
            "Javier Núñez, MD, Sub-Investigator",
            "Carmen Ortega, RN, Study Coordinator",
            "Pablo Serrano, PharmD, Study Pharmacist",
        ),
        board=_board("Monteclaro Ethics Committee for Research", "Teresa Vidal, PhD", 11),
        laboratory=_laboratory("Laboratorio Monteclaro", "Andrea Campos, MD", "99D9900111"),
        licence=Licence("Professional College of Physicians", "PCP 28/99133", "Ramon Iglesias"),
        rate_per_second=10.0,
        burst=3,
    ),
    SampleSite(
        site_id="1012",
        study=SLX_202,
        hospital="Banksia Bay Hospital",
        department="Gastroenterology Research",
        street="63 Esplanade Terrace",
        city="Fremantle WA 6160",
        country="Australia",
        investigator=SamplePerson("Joanna Pryce", "MBBS FRACP", "Principal Investigator"),
        team=_people(
            "Liam O'Rourke, MBBS, Sub-Investigator",
            "Tegan Marsh, RN, Study Coordinator",
            "Simon Baxter, BPharm, Study Pharmacist",
        ),
        board=_board("Banksia Bay Human Research Ethics Committee", "Neville Grady, PhD", 12),
        laboratory=_laboratory("Banksia Pathology", "Christine Yuen, FRCPA", "99D9900112"),
        licence=Licence("Registration Authority of Practitioners", "MED0099481", "Bruce Tanner"),
        rate_per_second=8.0,
    ),
)


def get_sample_site(site_id: str) -> SampleSite:
    """Return the sample site with this number. Raises KeyError if there is none."""
    return {entry.site_id: entry for entry in SITES}[site_id]
