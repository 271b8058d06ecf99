"""Tests of files with more than one document, which are reviewed with a list of the documents."""

import io
from dataclasses import replace
from datetime import date

import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import format_sentences
from ingestion.rules.segmentation.composition import check_composition
from ingestion.rules.segmentation.parts import PagePart, ProposedCut, propose_cut
from samples.binders import make_binder, place_one_above_the_other, place_side_by_side
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.pages import PAGES
from samples.people_and_sites import get_sample_site
from samples.renditions import make_scan
from tests.ingestion.rules.documents import COMPLETE, make_document
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading
from tests.ingestion.rules.printed_documents import Readings, make_printed

TODAY = date(2026, 11, 20)
HERE, NEIGHBOUR = "1001", "1002"
SENT_BY = SiteFacts(HERE, get_sample_site(HERE).study.protocol_number)


def sample(slug, where=HERE, fault=None):
    return make_sample(slug, today=TODAY, site=get_sample_site(where), fault=fault)


def what(seen):
    """Return what the primary finding says to the site."""
    return format_sentences(seen.primary.code, seen.primary.facts).what


def unnumbered(*slugs):
    """Remove the printed page numbers, so that only titles show where documents begin."""
    return [make_printed(*COMPLETE[slug][0], signed=COMPLETE[slug][1]) for slug in slugs]


def cv_that_lists_certificates():
    """Return a CV of three pages, the second of which begins with a licence and courses."""
    output = io.BytesIO()
    canvas = Canvas(output, (612, 792), invariant=1)
    pages = (
        ("CURRICULUM VITAE", "Name: Margaret Whitfield, MD", "EDUCATION", "EMPLOYMENT"),
        (
            "MEDICAL LICENSE",
            "State Medical Board of Ohio",
            "License Number: 35.990142, Status: Active, Expiration Date: 16 January 2028",
            "Good Clinical Practice",
            "Certificate of Completion, CITI Program, GCP for Clinical Trials, ICH E6",
            "Institutional Review Board",
        ),
        ("PUBLICATIONS", "Whitfield M et al. A trial of Selanex. 2019."),
    )
    for lines in pages:
        for row, line in enumerate(lines):
            canvas.setFont("Helvetica-Bold" if line.isupper() else "Helvetica", 10.5)
            canvas.drawString(60, 720 - 18 * row, line)
        canvas.showPage()
    canvas.save()
    return output.getvalue()


def licence(fault=None):
    return sample("medical-licence", fault=fault)


def gcp(where=HERE):
    return sample("gcp-certificate", where)


def letter_and_unsigned_1572():
    unsigned = sample("form-fda-1572", fault=DocumentFault.UNSIGNED)
    return make_binder([sample("irb-approval"), unsigned])


BINDERS = {
    "letter and unsigned 1572": letter_and_unsigned_1572,
    "letter and expired certificate": lambda: make_binder(
        [sample("irb-approval"), licence(DocumentFault.EXPIRED)]
    ),
    "eight": lambda: make_binder([sample(slug) for slug in list(PAGES)[:8]], turned=(2, 5)),
    "certificates of two people": lambda: make_binder([gcp(), gcp(NEIGHBOUR)]),
    "side by side": lambda: place_side_by_side(gcp(), licence()),
    "one above the other": lambda: place_one_above_the_other(licence(), gcp()),
    "two people's side by side": lambda: place_side_by_side(gcp(), gcp(NEIGHBOUR)),
    "not numbered": lambda: make_binder(unnumbered("irb-approval", "medical-licence", "cv")),
    "scan: letter and unsigned 1572": lambda: make_scan(letter_and_unsigned_1572(), seed="1"),
    "scan: side by side": lambda: make_scan(place_side_by_side(gcp(), licence()), seed="2"),
    "cv": cv_that_lists_certificates,
}


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return Readings(tmp_path_factory.mktemp("binders"), BINDERS)


def verdict(reading, declared):
    return checked(reading, declared=declared, site=SENT_BY, today=TODAY)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "declared", "documents"),
    [
        (
            "letter and unsigned 1572",
            "irb-approval",
            "IRB approval on page 1; Form FDA 1572 on pages 2 to 3",
        ),
        (
            "letter and expired certificate",
            "irb-approval",
            "IRB approval on page 1; medical licence on page 2",
        ),
        (
            "certificates of two people",
            "gcp-certificate",
            "GCP certificate on page 1; GCP certificate on page 2",
        ),
        (
            "side by side",
            "medical-licence",
            "GCP certificate on page 1; medical licence on page 1",
        ),
        (
            "one above the other",
            "medical-licence",
            "medical licence on page 1; GCP certificate on page 1",
        ),
        (
            "two people's side by side",
            "gcp-certificate",
            "GCP certificate on page 1; GCP certificate on page 1",
        ),
        (
            "not numbered",
            "irb-approval",
            "IRB approval on page 1; medical licence on page 2; CV on page 3",
        ),
        pytest.param(
            "scan: letter and unsigned 1572",
            "irb-approval",
            "IRB approval on page 1; Form FDA 1572 on pages 2 to 3",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "scan: side by side",
            "gcp-certificate",
            "GCP certificate on page 1; medical licence on page 1",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_file_with_several_documents_is_reviewed_with_a_list_of_them(
    readings, name, declared, documents
):
    seen = verdict(readings[name], declared)
    assert (seen.state, seen.primary.code) == ("IN_REVIEW", "MULTIPLE_DOCUMENTS")
    assert what(seen) == f"This file seems to contain several documents: {documents}."
    assert seen.fields == ()  # it is not known to which document a value belongs


def test_each_of_eight_documents_is_named_with_its_pages(readings):
    named = what(verdict(readings["eight"], "irb-approval")).split("; ")
    assert len(named) == 8
    assert named[2:4] == ["Form FDA 1572 on pages 3 to 4", "CV on pages 5 to 6"]


def test_a_document_behind_a_doubtful_separator_sheet_is_not_called_several():
    cut = ProposedCut(
        (PagePart(2, 3, type="cv"),), separators=(1,), is_certain=False, reasons=("other-site",)
    )
    (finding,) = check_composition(cut, TYPES["cv"], page_count=3)
    sentence = format_sentences(finding.code, finding.facts)
    assert sentence.what == (
        "A person has to check the separator sheet of this document: CV on pages 2 to 3."
    )


def test_a_cv_that_lists_licences_and_certificates_is_not_divided(readings):
    """Its second page looks like a licence, so that a person decides."""
    cut = propose_cut(readings["cv"])
    assert [(part.first, part.last) for part in cut.parts] == [(1, 3)]
    assert not cut.is_certain


@pytest.mark.parametrize("slug", COMPLETE)
def test_a_file_with_too_many_pages_for_its_type_is_reviewed(slug):
    (page,) = make_document(slug).pages
    max_pages = TYPES[slug].max_pages

    def check(count):
        first = replace(page, text=f"{page.text}\nPage 1 of {count}")
        more = [
            make_page("Continued", f"Page {number} of {count}", number=number)
            for number in range(2, count + 1)
        ]
        return checked(make_reading(first, *more), declared=slug)

    assert "MULTIPLE_DOCUMENTS" not in codes(check(max_pages))
    seen = check(max_pages + 1)
    assert (seen.state, seen.primary.code) == ("IN_REVIEW", "MULTIPLE_DOCUMENTS")
    assert seen.primary.facts == {"pages": max_pages + 1, "limit_pages": max_pages}


def pages_of(*slugs, running="", total=0):
    """Return one page of each type, with a running header and, if requested, a number."""
    for number, slug in enumerate(slugs, start=1):
        numbering = f"Page {number} of {total}" if total else ""
        yield make_page(*filter(None, (running, *COMPLETE[slug][0], numbering)), number=number)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("before", COMPLETE)
def test_a_document_of_another_type_is_found_without_page_numbers(before):
    others = COMPLETE.keys() - {before, *TYPES[before].mentions}
    filed_with = {
        after
        for after in others
        if "MULTIPLE_DOCUMENTS"
        not in codes(checked(make_reading(*pages_of(before, after)), declared=before))
    }
    assert filed_with == set()


def test_several_documents_with_continuous_page_numbers_are_found():
    reading = make_reading(*pages_of("irb-approval", "form-fda-1572", total=2))
    assert "MULTIPLE_DOCUMENTS" in codes(checked(reading, declared="irb-approval"))


def test_a_new_page_numbering_begins_another_document():
    pages = [
        *pages_of("irb-approval", total=1),
        make_page("Dear colleague", "Page 1 of 1", number=2),
    ]
    seen = checked(make_reading(*pages), declared="irb-approval")
    assert what(seen) == (
        "This file seems to contain several documents: IRB approval on page 1; "
        "a document of another type on page 2."
    )


def test_a_title_in_the_header_of_every_page_begins_no_document():
    running = "INFORMED CONSENT FORM"
    first = make_page(*COMPLETE["informed-consent-form"][0], "Page 1 of 3", number=1)
    more = [
        make_page(
            running,
            "You are being asked to take part. Taking part is voluntary.",
            "You may stop at any time.",
            f"Page {number} of 3",
            number=number,
        )
        for number in (2, 3)
    ]
    reading = make_reading(first, *more)
    assert "MULTIPLE_DOCUMENTS" not in codes(checked(reading, declared="informed-consent-form"))


def test_a_report_in_two_parts_is_one_certificate():
    """Both parts of a CITI report name the course, and each has its own date."""
    part = (
        "COMPLETION REPORT - PART {part} OF 2",
        "CITI Program",
        "Name: Margaret Whitfield",
        "Course: Good Clinical Practice (GCP), ICH E6",
        "Completion Date: 1{part} March 2026",
    )
    pages = [
        make_page(*(line.format(part=number) for line in part), number=number) for number in (1, 2)
    ]
    seen = checked(make_reading(*pages), declared="gcp-certificate", person="Margaret Whitfield")
    assert "MULTIPLE_DOCUMENTS" not in codes(seen)
