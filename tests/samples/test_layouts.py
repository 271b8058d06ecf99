"""The specimens of the layouts: reproducible, readable, and true to what they say is printed."""

import io
import re
import sys
from contextlib import closing
from datetime import date
from subprocess import run

import pypdfium2 as pdfium
import pytest

from ingestion.assessment.truth import Truth
from ingestion.rules.document_types import TYPES
from samples.layouts import LAYOUTS, OTHER, OTHER_LAYOUTS, make_specimen
from samples.layouts.markup import Typography, make_flowables
from samples.layouts.values import COUNTRIES, Person, make_values, print_date
from tests.marks import slower

MIN_LAYOUTS = 6


def letters_of(text):
    return re.sub(r"\W+", "", text).casefold()


def text_of(content):
    with closing(pdfium.PdfDocument(io.BytesIO(content))) as document:
        return "\n".join(page.get_textpage().get_text_range() for page in document)


def test_every_type_has_at_least_six_layouts():
    assert set(LAYOUTS) == set(TYPES)
    assert {slug: own for slug, own in LAYOUTS.items() if len(set(own)) < MIN_LAYOUTS} == {}


@pytest.mark.parametrize(
    "layouts", [slice(1, 2), pytest.param(slice(None), marks=pytest.mark.slow)], ids=["one", "all"]
)
@pytest.mark.parametrize("slug", LAYOUTS)
def test_a_specimen_shows_each_value_that_it_states(slug, layouts):
    for layout in LAYOUTS[slug][layouts]:
        specimen = make_specimen(slug, layout, 1)
        letters = letters_of(text_of(specimen.content))
        for name, value in specimen.values.items():
            assert all(letters_of(part) in letters for part in value.split("; ")), (layout, name)
        assert set(specimen.days) <= set(specimen.values)


@pytest.mark.parametrize(
    "slug", [slug if slug in {"cv", "irb-approval"} else slower(slug) for slug in LAYOUTS]
)
def test_a_specimen_is_the_same_in_every_run_and_differs_with_the_seed(slug):
    layout = LAYOUTS[slug][-1]
    one, repeated, other = (make_specimen(slug, layout, seed) for seed in (3, 3, 4))
    assert one == repeated
    assert one.content != other.content


def test_specimens_of_one_seed_are_of_one_site():
    values = [make_values(7, "US"), make_values(7, "US"), make_values(8, "US")]
    assert values[0] == values[1]
    assert values[0]["investigator"] != values[2]["investigator"]


@pytest.mark.parametrize("country", COUNTRIES)
def test_the_dates_of_a_packet_are_in_order(country):
    values = make_values(5, country)
    for earlier, later in [
        ("meeting_date", "approval_date"), ("approval_date", "expiry_date"),
        ("completion_date", "course_expiry"), ("effective_date", "two_years"),
        ("shipment_date", "receipt_date"), ("calibration_date", "calibration_due"),
    ]:  # fmt: skip
        assert values[earlier] < values[later]
    assert values["approval_date"] < values["today"] < values["expiry_date"]


@pytest.mark.parametrize(
    ("style", "printed"),
    [
        ("us", "March 2, 2026"),
        ("uk", "2 March 2026"),
        ("dmy", "02-Mar-2026"),
        ("m/d/y", "3/2/2026"),
        ("ordinal", "2nd March, 2026"),
        ("iso", "2026-03-02"),
    ],
)
def test_dates_are_printed_in_the_style_of_the_layout(style, printed):
    assert print_date(date(2026, 3, 2), style) == printed


def test_names_are_printed_in_several_forms():
    person = Person("Ada", "Van der Berg", "MD", "Dr")
    assert [person.printed(form) for form in ("", "dr", "inv", "mail")] == [
        "Ada Van der Berg, MD",
        "Dr Ada Van der Berg",
        "Van der Berg, Ada",
        "avanderberg",
    ]


def test_an_unknown_command_of_a_layout_is_an_error():
    with pytest.raises(ValueError, match="@stamp"):
        make_flowables("@stamp VOID", Typography("times", 10, "seed"), 400)


def test_an_unknown_layout_is_an_error():
    with pytest.raises(KeyError):
        make_specimen("cv", "no-such-layout")


@pytest.mark.slow
def test_the_specimens_are_written_with_a_truth_that_an_assessment_reads(tmp_path):
    arguments = [str(tmp_path), "--type", "irb-approval", "--type", OTHER, "--sheet"]
    run([sys.executable, "-m", "samples.layouts", *arguments], check=True)
    truth = Truth.load(tmp_path / "truth.json")
    assert len(truth.files) == len(LAYOUTS["irb-approval"]) + len(OTHER_LAYOUTS)
    approval = next(each for each in truth.files if each.file == "irb-approval__memo-us.pdf")
    assert (approval.type, set(approval.values)) == (
        "irb-approval",
        {"investigator", "irb_name", "approval_date", "expiry_date", "fwa_number"},
    )
    assert {each.type.partition(":")[0] for each in truth.files} == {"irb-approval", OTHER}
    assert (tmp_path / "sheet.png").exists()


def test_a_line_with_the_sign_of_a_prefix_alone_is_text():
    """The typesetter once read such a line for ever."""
    typography = Typography("times", 10, "seed", "left")
    assert len(make_flowables("*Enclosures\n#5 of 7\n\n* Consent form", typography, 400)) == 3
