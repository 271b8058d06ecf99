import dataclasses
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.core.states import DocumentState
from ingestion.reading.results import (
    AddedMark,
    AddedMarkKind,
    Box,
    DocumentReading,
    MediaType,
    SignatureResult,
    TextSource,
    Unreadable,
)
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.checks.verdict import make_verdict_from_findings, make_verdict_of_unreadable
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.document_types import RULES_VERSION
from ingestion.rules.finding_texts import list_placeholders
from ingestion.rules.findings import RuleFinding
from ingestion.rules.messages import MESSAGES
from tests.ingestion.rules.documents import COMPLETE, CV, LICENCE, make_document, make_signature
from tests.ingestion.rules.pages import SITE, TODAY, checked, codes, make_page, make_reading
from tests.ingestion.rules.registered_forms import with_blank_forms

every_type = pytest.mark.parametrize("slug", COMPLETE)
SIGNED = [slug for slug, (_, caption) in COMPLETE.items() if caption]
STAMP = Box(400.0, 60.0, 480.0, 110.0)
SCAN = {"source": TextSource.OCR, "confidence": 90.0}
BLURRED = {"source": TextSource.OCR, "confidence": 72.0}


@every_type
def test_a_complete_document_is_filed(slug):
    verdict = checked(make_document(slug), declared=slug)
    assert (verdict.state, verdict.primary) == (DocumentState.ARCHIVED, None)
    assert (verdict.document_type, verdict.rules_version) == (slug, RULES_VERSION)


@pytest.mark.parametrize("slug", SIGNED)
def test_an_unsigned_document_is_rejected_with_page_role_and_section(slug):
    verdict = checked(make_document(slug, signed=False), declared=slug)
    assert (verdict.state, verdict.primary.code) == ("REJECTED", "SIGNATURE_MISSING")
    assert set(verdict.primary.facts) == {"page", "role", "section"}


@every_type
def test_no_document_needs_a_digital_signature(slug):
    assert "digital-signature" not in make_document(slug).flags
    assert checked(make_document(slug), declared=slug).state is DocumentState.ARCHIVED


def test_a_passed_omb_date_on_a_1572_is_only_a_remark():
    verdict = checked(make_document("form-fda-1572"), declared="form-fda-1572")
    assert codes(verdict) == ["FORM_EDITION_OUTDATED", "FORM_NOT_REGISTERED"]
    assert verdict.state is DocumentState.ARCHIVED


@pytest.mark.parametrize(
    ("slug", "change", "code"),
    [
        ("medical-licence", {"2028": "2026"}, "EXPIRED_DOCUMENT"),
        ("lab-certification", {"07/03/2028": "11/19/2026"}, "EXPIRED_DOCUMENT"),
        ("irb-approval", {"12 Aug 2027": "12 Nov 2026"}, "EXPIRED_DOCUMENT"),
        ("cv", {"27 Oct 2026": "19 Nov 2024"}, "STALE_DOCUMENT"),
        ("gcp-certificate", {"17 March 2026": "19 November 2023"}, "STALE_DOCUMENT"),
        ("irb-approval", {"Expiration Date: 12 Aug 2027": "", "14 Aug": "20 Nov", "2026": "2025"},
         "STALE_DOCUMENT"),
        ("cv", {"27 Oct 2026": "27 Dec 2026"}, "DATE_IN_FUTURE"),
        ("gcp-certificate", {"17 March 2026": "17 March 2027"}, "DATE_IN_FUTURE"),
        ("irb-approval", {"Approval Date: 14 Aug 2026": "Approval Date: 31 Jun 2026"},
         "DATE_INVALID"),
        ("medical-licence", {"Issue Date: 16 January 2026": "Issue Date: 16 January 2029"},
         "DATE_OUT_OF_SEQUENCE"),
        ("cv", {"Date: 27 Oct 2026": "Date:"}, "SIGNATURE_DATE_MISSING"),
        ("medical-licence", {"Expiration Date: 16 January 2028": ""}, "SCHEMA_MISMATCH"),
    ],
)  # fmt: skip
def test_problems_that_the_site_can_correct_cause_a_rejection(slug, change, code):
    verdict = checked(make_document(slug, change), declared=slug)
    assert (verdict.state, verdict.primary.code) == (DocumentState.REJECTED, code)


@pytest.mark.parametrize(
    ("slug", "change", "code"),
    [
        ("irb-approval", {"Site number: 0203": "Site number: 0204"}, "SITE_MISMATCH"),
        ("irb-approval", {"Number: SLX-301": "Number: ABC-999"}, "PROTOCOL_MISMATCH"),
        ("irb-approval", {"meeting of 12 Aug": "modifications required 12 Aug"},
         "NOT_FINAL"),
        ("irb-approval", {"14 Aug 2026": "08/09/2026"}, "VALUE_IN_DOUBT"),
    ],
)  # fmt: skip
def test_doubtful_documents_are_reviewed(slug, change, code):
    verdict = checked(make_document(slug, change), declared=slug)
    assert (verdict.state, verdict.primary.code) == (DocumentState.IN_REVIEW, code)


@pytest.mark.parametrize(
    ("slug", "change"),
    [
        ("medical-licence", {"2028": "2026"}),
        ("cv", {"27 Oct 2026": "19 Nov 2024"}),
        ("cv", {"27 Oct 2026": "27 Dec 2026"}),
        ("irb-approval", {"Approval Date: 14 Aug 2026": "Approval Date: 31 Jun 2026"}),
        ("medical-licence", {"Expiration Date: 16 January 2028": ""}),
    ],
)
def test_values_that_may_be_misread_cause_no_rejection(slug, change):
    verdict = checked(make_document(slug, change, **BLURRED), declared=slug)
    assert verdict.state == "IN_REVIEW"
    # The name may be misread as well, and the document is filed under it.
    assert set(codes(verdict)) <= {"OCR_LOW_CONFIDENCE", "PERSON_NOT_READ"}
    assert "OCR_LOW_CONFIDENCE" in codes(verdict)


@pytest.mark.parametrize(
    ("slug", "change"),
    [
        ("cv", {"27 Oct 2026": "27 Oct 2028"}),
        ("cv", {"27 Oct 2026": "77 Oct 2026"}),
        ("medical-licence", {"16 January 2026": "16 January 2029"}),
        ("cv", {"Date: 27 Oct 2026": ""}),
    ],
)
def test_an_implausible_value_on_a_scan_counts_as_misread(slug, change):
    verdict = checked(make_document(slug, change, **SCAN), declared=slug)
    assert codes(verdict) == ["OCR_LOW_CONFIDENCE"]


def test_a_scan_with_high_confidence_is_checked_like_printed_text():
    verdict = checked(make_document("medical-licence", {"2028": "2026"}, **SCAN))
    assert verdict.primary.code == "EXPIRED_DOCUMENT"


def test_a_conflict_with_the_declared_type_names_the_evidence():
    verdict = checked(make_document("form-fda-1572", signed=False), declared="cv")
    assert codes(verdict) == ["DOC_TYPE_CONFLICT"]
    assert (verdict.primary.facts["detected"], verdict.primary.facts["declared"]) == (
        "Form FDA 1572",
        "CV",
    )


def test_an_unrecognised_document_is_reviewed_without_a_type():
    verdict = checked(make_reading(make_page("The canteen is closed.")), declared="cv")
    assert (verdict.document_type, codes(verdict)) == ("", ["DOC_TYPE_UNRECOGNIZED"])


@pytest.mark.parametrize("days", [0, 7, 30, 90])
def test_a_document_that_expires_soon_is_filed_with_a_remark(days):
    ends = TODAY + timedelta(days=days)
    verdict = checked(make_document("medical-licence", {"16 January 2028": f"{ends:%d %B %Y}"}))
    assert (verdict.state, codes(verdict)) == (DocumentState.ARCHIVED, ["EXPIRES_SOON"])
    assert verdict.findings[0].facts == {"expires": ends.isoformat(), "days": days}


def test_an_approval_is_valid_for_a_year_less_a_day():
    change = {"Expiration Date: 12 Aug 2027": "", "14 Aug 2026": "20 Nov 2025"}
    last = checked(make_document("irb-approval", change), today=date(2026, 11, 19))
    after = checked(make_document("irb-approval", change), today=date(2026, 11, 20))
    assert (codes(last), codes(after)) == (["EXPIRES_SOON"], ["STALE_DOCUMENT"])


def test_a_renewed_approval_has_no_maximum_age_until_its_printed_expiry_date():
    change = {"Approval Date: 14 Aug 2026": "Approval Date: 14 Aug 2023"}
    assert checked(make_document("irb-approval", change)).state is DocumentState.ARCHIVED


def test_a_date_of_tomorrow_is_accepted_because_of_the_date_line():
    tomorrow = TODAY + timedelta(days=1)
    verdict = checked(make_document("cv", {"27 Oct 2026": f"{tomorrow:%d %b %Y}"}))
    assert verdict.state is DocumentState.ARCHIVED


@pytest.mark.parametrize("named", ["0203", "203", "O2O3", "BER-0203"])
def test_the_same_site_may_be_written_in_many_ways(named):
    change = {"Site number: 0203": f"Site number: {named}"}
    site = SiteFacts("BER-0203", "SLX-301")
    assert checked(make_document("irb-approval", change), site=site).state == "ARCHIVED"


def test_a_document_may_name_other_protocols_beside_the_studys_own():
    change = {"Number: SLX-301": "Number: ABC-999", "Version: 3.0": "of SLX-301: 3.0"}
    assert checked(make_document("irb-approval", change)).state is DocumentState.ARCHIVED


@pytest.mark.parametrize("version", ["v1.0", "", "v3.0", "2.1"])
def test_an_unknown_schema_version_is_rejected_with_the_supported_ones(version):
    verdict = checked(make_document("cv"), schema_version=version)
    assert (verdict.state, verdict.primary.code) == ("REJECTED", "SCHEMA_MISMATCH")
    assert verdict.primary.facts["supported"] == ", ".join(SCHEMA_VERSIONS)


def test_a_form_that_was_not_read_is_reviewed_and_not_reported_as_incomplete():
    seen = make_document("irb-approval", {"Approval Date: 14 Aug 2026": ""}, flags=["unread-form"])
    assert codes(checked(seen, declared="irb-approval")) == ["OCR_LOW_CONFIDENCE"]


@pytest.mark.parametrize(
    "flag", ["javascript", "launch", "embedded-file", "file-link", "remote", "unsearched"]
)
def test_a_file_with_active_content_is_quarantined_for_qa(flag):
    verdict = checked(make_document("cv", flags=[flag]))
    assert (verdict.state, codes(verdict)) == (DocumentState.IN_REVIEW, ["ACTIVE_CONTENT"])
    assert verdict.is_quarantined


def test_a_rejected_document_with_active_content_is_quarantined_as_well():
    verdict = checked(make_document("cv", signed=False, flags=["javascript"]))
    assert (verdict.primary.code, verdict.is_quarantined) == ("SIGNATURE_MISSING", True)


def test_xfa_and_a_digital_signature_are_not_active_content():
    flags = ["xfa", "digital-signature"]
    assert checked(make_document("cv", flags=flags)).state is DocumentState.ARCHIVED


def test_a_document_with_a_blank_page_is_reviewed():
    blank = make_page(number=2, is_blank=True)
    verdict = checked(make_reading(*make_document("cv").pages, blank))
    assert [(f.code, f.page) for f in verdict.findings] == [("BLANK_OR_MISSING_PAGE", 2)]


def numbered(*numbers, total=3, unnumbered=0):
    pages = [make_page(*CV, f"Page {n} of {total}", number=n, signed="Signature:") for n in numbers]
    more = [make_page("text", number=90 + at) for at in range(unnumbered)]
    return checked(make_reading(*pages, *more), declared="cv")


def test_a_document_with_missing_page_numbers_is_reviewed():
    verdict = numbered(1, 3)
    assert codes(verdict) == ["BLANK_OR_MISSING_PAGE"]
    assert verdict.primary.facts == {"missing": "2", "present": 2, "total": 3}


@pytest.mark.parametrize(
    ("numbers", "unnumbered"), [((1, 2, 3), 0), ((1, 3), 1), ((2,), 2), ((), 1)]
)
def test_no_page_is_reported_as_missing_if_it_may_be_present(numbers, unnumbered):
    assert "BLANK_OR_MISSING_PAGE" not in codes(numbered(*numbers, unnumbered=unnumbered))


COARSE = {"source": TextSource.OCR, "confidence": 40.0, "dpi": 96}


def test_a_coarse_scan_that_cannot_be_read_is_rejected_with_its_resolution():
    verdict = checked(make_document("irb-approval", **COARSE), declared="irb-approval")
    assert verdict.primary == RuleFinding("ILLEGIBLE_SCAN", 1, {"count": 1, "total": 1, "dpi": 96})


@pytest.mark.parametrize(
    "lines",
    [("A npowwran npoToKoN NM cornaceH", "with KnvHu4eckon"), ("",)],
    ids=["misread", "none"],
)
def test_a_coarse_scan_without_english_words_is_reviewed(lines):
    verdict = checked(make_reading(make_page(*lines, **COARSE)), declared="cv")
    assert "ILLEGIBLE_SCAN" not in codes(verdict)
    assert RuleFinding("OCR_LOW_CONFIDENCE", 1, {"what": "the text", "page": 1}) in verdict.findings


def test_a_page_at_which_ocr_failed_is_not_called_illegible():
    failed = make_page("of the", number=2, error="OCR took too long", **COARSE)
    verdict = checked(make_reading(make_page(*LICENCE), failed))
    assert codes(verdict) == ["OCR_LOW_CONFIDENCE"]


@pytest.mark.parametrize(("uncovered", "state"), [(0.1, "ARCHIVED"), (0.11, "IN_REVIEW")])
def test_a_page_with_much_unread_text_is_reviewed(uncovered, state):
    verdict = checked(make_document("medical-licence", **SCAN, uncovered=uncovered))
    assert verdict.state == state
    passed_over = RuleFinding("OCR_LOW_CONFIDENCE", 1, {"what": "all of the text", "page": 1})
    assert verdict.primary == (passed_over if state == "IN_REVIEW" else None)


def test_a_fine_scan_that_cannot_be_read_is_reviewed():
    verdict = checked(make_document("medical-licence", source=TextSource.OCR, confidence=40.0))
    assert "ILLEGIBLE_SCAN" not in codes(verdict)
    assert verdict.state is DocumentState.IN_REVIEW


def test_a_document_with_an_unread_page_is_reviewed():
    failed = make_page(number=2, error="OCR failed")
    verdict = checked(make_reading(make_page(*LICENCE), failed))
    assert [(f.code, f.page) for f in verdict.findings] == [("OCR_LOW_CONFIDENCE", 2)]


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"signed": False}, "SIGNATURE_MISSING"),
     ({"replace": {"SLX-301": "ABC-999"}}, "PROTOCOL_MISMATCH")],
)  # fmt: skip
def test_an_entry_is_not_reported_as_missing_if_it_may_be_on_an_unread_page(changes, code):
    document = make_document("irb-approval", **changes)
    assert checked(document).primary.code == code
    failed = make_page(number=2, error="process ended (exit code -9)")
    verdict = checked(make_reading(*document.pages, failed))
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["OCR_LOW_CONFIDENCE"])


@pytest.mark.parametrize(
    "code",
    [
        "EMPTY_FILE",
        "FILE_TOO_LARGE",
        "UNSUPPORTED_TYPE",
        "ENCRYPTED_DOCUMENT",
        "CORRUPT_DOCUMENT",
        "PARSER_FAILURE",
    ],
)
def test_an_unreadable_file_is_rejected_with_its_own_code(code):
    verdict = make_verdict_of_unreadable(Unreadable(code, {"found": "a web page"}))
    assert (verdict.state, verdict.primary.code) == (DocumentState.REJECTED, code)
    assert verdict.primary.facts == {"found": "a web page"}


@given(st.lists(st.sampled_from(list(CODES)), max_size=6))
def test_the_worst_disposition_decides_in_any_order(found):
    verdict = make_verdict_from_findings([RuleFinding(code) for code in found])
    worst = min((list(Disposition).index(CODES[code].disposition) for code in found), default=4)
    states = ("HELD", "REJECTED", "IN_REVIEW", "ARCHIVED", "ARCHIVED")
    assert verdict.state == states[worst]
    assert (verdict.primary is None) == (verdict.state is DocumentState.ARCHIVED)
    assert verdict == make_verdict_from_findings([RuleFinding(code) for code in reversed(found)])


LINES = st.sampled_from([line for lines, _ in COMPLETE.values() for line in lines])


@settings(max_examples=40)
@given(st.lists(LINES, min_size=1, max_size=25), st.sampled_from(["", *COMPLETE]), st.booleans())
def test_the_same_reading_always_gives_the_same_verdict(lines, declared, scanned):
    page = make_page(*lines, signed="Signature", **(SCAN if scanned else {}))
    first, second = (checked(make_reading(page), declared=declared) for _ in range(2))
    assert first == second
    assert first.primary is None or first.primary is first.findings[0]


@given(st.text(max_size=200))
def test_the_checks_accept_any_text(text):
    page = make_page(*text.split("\n"))
    assert checked(make_reading(page)).state in set(DocumentState)


def test_a_reading_without_pages_gets_a_verdict():
    empty = DocumentReading(media_type=make_reading().media_type, pages=())
    assert checked(empty, declared="cv").primary.code == "DOC_TYPE_UNRECOGNIZED"


def with_signature(result=SignatureResult.TRUSTED, change=None, marks=(), **more):
    """Return the CV with a digital signature in place of a handwritten one."""
    signatures = [make_signature(result, **more)]
    return make_document("cv", change, signed=False, signatures=signatures, marks=marks)


FAULTY = [
    checked(make_document(slug, change, **page), declared=slug, site=SITE)
    for slug, change, page in (
        ("cv", {}, {"signed": False}),
        ("cv", {"27 Oct 2026": "19 Nov 2024"}, {}),
        ("cv", {"27 Oct 2026": "27 Dec 2026"}, {}),
        ("cv", {"Date: 27 Oct 2026": "Date:"}, {}),
        ("cv", {}, {"flags": ["javascript"]}),
        ("cv", {}, {"source": TextSource.OCR, "confidence": 40.0}),
        ("irb-approval", {}, {"source": TextSource.OCR, "confidence": 40.0, "dpi": 96}),
        ("form-fda-1572", {}, {}),
        ("medical-licence", {"2028": "2026"}, {}),
        ("medical-licence", {"16 January 2028": "1 December 2026"}, {}),
        ("medical-licence", {"Issue Date: 16 January 2026": "Issue Date: 16 January 2029"}, {}),
        ("medical-licence", {"Expiration Date: 16 January 2028": ""}, {}),
        ("irb-approval", {"Approval Date: 14 Aug": "Approval Date: 31 Jun"}, {}),
        ("irb-approval", {"Site number: 0203": "Site number: 0204"}, {}),
        ("irb-approval", {"Number: SLX-301": "Number: ABC-999"}, {}),
        ("irb-approval", {"meeting of": "modifications required"}, {}),
        ("irb-approval", {"14 Aug 2026": "08/09/2026"}, {}),
    )
] + [
    checked(make_document("cv"), person="Helena Brandt"),
    checked(make_document("cv"), person="Margret Whitfield"),
    checked(make_document("irb-approval"), site=SiteFacts("0203", protocol_version="2.0")),
    checked(make_document("cv", {"EDUCATION": "SSN: 078-05-1120"})),
    checked(make_document("form-fda-1572"), declared="cv"),
    checked(make_document("cv"), schema_version="v1.0"),
    checked(make_document("informed-consent-form"), version="9.0"),
    checked(make_document("irb-approval"), language="fra"),
    checked(make_reading(make_page("The canteen is closed.")), declared="cv"),
    checked(make_reading(make_page("CV of <Your Name>")), declared="cv"),
    make_verdict_from_findings([RuleFinding("BLANK_FORM")]),
    checked(make_document("cv"), filename="cv.JPG"),
    numbered(1, 3),
    *(
        checked(with_signature(result, weakness="an RSA key of {bits} bits", bits=1024))
        for result in SignatureResult
    ),
    checked(with_signature(signer="Helena Brandt")),
    checked(with_signature(is_last=False)),
    checked(with_signature(valid_until=date(2026, 11, 1))),
    checked(with_signature(box=Box(400.0, 600.0, 500.0, 640.0))),
    checked(make_document("cv", {"PUBLICATIONS": "Digitally signed by me"}, signed=False)),
    checked(make_reading(make_page("CV"), make_page("Page 1 of 1", number=2)), declared="cv"),
    checked(make_reading(*make_document("gcp-certificate").pages, *[make_page("")] * 9)),
    *(
        checked(make_reading(make_page("3.0  MW 3 May 2026" if dated else "3.0", added_marks=[
            AddedMark(kind, Box(50.0, 60.0, 70.0, 69.0), "3.0")
        ])), declared="cv")
        for kind in AddedMarkKind
        for dated in (False, True)
    ),
    # The blank pages of two editions of a registered form.
    checked(
        with_blank_forms(make_document("form-fda-1572"), "fda-1572-2009-05", "fda-1572-2006-05")
    ),
]  # fmt: skip


FINDINGS = {str(finding): finding for verdict in FAULTY for finding in verdict.findings}


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=str)
def test_the_facts_of_every_finding_fill_a_specific_wording(finding):
    """The last wording is only for old findings, because current rules provide more facts."""
    usable = [
        w for w in MESSAGES[finding.code].what if list_placeholders(w) <= {"type", *finding.facts}
    ]
    assert usable[0] != MESSAGES[finding.code].what[-1] or len(MESSAGES[finding.code].what) == 1
    assert all(type(value) in {str, int} for value in finding.facts.values())


@pytest.mark.parametrize("name", ["cv.pdf", "CV.PDF", "cv", "cv.v2", ""])
def test_a_matching_or_missing_file_name_extension_is_accepted(name):
    assert "TYPE_MISMATCH" not in codes(checked(make_document("cv"), filename=name))


def test_a_picture_with_the_extension_of_a_pdf_is_rejected():
    picture = dataclasses.replace(make_document("cv"), media_type=MediaType.PNG)
    verdict = checked(picture, filename="cv.pdf")
    assert (verdict.state, verdict.primary.code) == (DocumentState.REJECTED, "TYPE_MISMATCH")
    assert verdict.primary.facts == {"declared": "cv.pdf", "found": "a PNG image"}


def test_every_code_of_a_check_is_caused_by_a_document_of_these_tests():
    given = {finding.code for verdict in FAULTY for finding in verdict.findings}
    unread = {"EMPTY_FILE", "FILE_TOO_LARGE", "UNSUPPORTED_TYPE", "ENCRYPTED_DOCUMENT"}
    unread |= {"DYNAMIC_XFA_FORM", "CORRUPT_DOCUMENT", "PARSER_FAILURE"}
    elsewhere = {"DOWNLOAD_FAILED", "DUPLICATE_CONTENT", "CHECKSUM_MISMATCH", "MALWARE_SUSPECTED"}
    elsewhere |= {
        "LAB_MISMATCH",
        "IRB_MISMATCH",
        "PACKET_INCOMPLETE",
    }  # findings that compare documents
    elsewhere.add("QA_REJECTED")  # a decision of QA
    elsewhere |= {"CONTAINER_REFUSED", "CONVERSION_FAILED", "ENTRY_IN_DOUBT"}  # before reading
    held = {code for code, entry in CODES.items() if entry.disposition is Disposition.HOLD}
    assert given == set(CODES) - unread - elsewhere - held


def test_a_digital_signature_is_dated_by_its_own_time():
    verdict = checked(with_signature(change={"Date: 27 Oct 2026": ""}))
    assert (verdict.state, verdict.dated) == (DocumentState.ARCHIVED, date(2026, 10, 27))


def test_the_time_of_a_digital_signature_is_checked_like_a_date():
    change = {"Date: 27 Oct 2026": ""}
    old = with_signature(change=change, signed_on=date(2024, 1, 1))
    assert codes(checked(old)) == ["STALE_DOCUMENT"]
    ahead = with_signature(change=change, signed_on=date(2026, 12, 1))
    assert codes(checked(ahead)) == ["DATE_IN_FUTURE"]


@pytest.mark.parametrize("slug", ["protocol-signature-page", "form-fda-1572", "cv"])
def test_the_signature_flag_of_a_file_does_not_count_as_a_signature(slug):
    reading = make_document(slug, signed=False, flags=["digital-signature"])
    assert "SIGNATURE_MISSING" in codes(checked(reading, declared=slug))


def test_a_signature_in_ink_needs_no_matching_digital_signature():
    sponsor = make_signature(signer="Lena Hoff", box=Box(400.0, 600.0, 500.0, 640.0))
    assert codes(checked(make_document("cv", signatures=[sponsor]))) == []


def test_of_two_digital_signatures_in_the_area_the_expected_persons_counts():
    both = [make_signature(signer="Lena Hoff"), make_signature()]
    assert codes(checked(make_document("cv", signed=False, signatures=both))) == []


def test_the_appearance_of_a_digital_signature_is_neither_ink_nor_a_typed_signature():
    """Anybody can draw the appearance of a signature, so only a validated signature counts."""
    mark = Box(70.0, 128.0, 190.0, 148.0)
    drawn = with_signature(SignatureResult.EMPTY, marks=[mark])
    assert codes(checked(drawn)) == ["SIGNATURE_EMPTY", "SIGNATURE_MISSING"]
    written = with_signature(
        SignatureResult.EMPTY,
        box=Box(50.0, 130.0, 400.0, 157.0),
        change={"PUBLICATIONS": "PUBLICATIONS", "Signature:": "Signature:"},
    )
    assert "SIGNATURE_EMPTY" in codes(checked(written))


def test_an_irb_letter_must_name_the_person_who_signs_it():
    box = Box(60.0, 170.0, 200.0, 210.0)
    chair = make_signature(signer="Harold Simmons", box=box)
    unsigned = make_document("irb-approval", signed=False, signatures=[chair])
    assert codes(checked(unsigned, declared="irb-approval")) == ["SIGNER_MISMATCH"]
    named = {"Convened review": "Harold Simmons, Chair. Convened review"}
    letter = make_document("irb-approval", named, signed=False, signatures=[chair])
    assert codes(checked(letter, declared="irb-approval")) == []


def test_the_declared_person_has_to_sign_if_no_name_was_read():
    unnamed = {"Name: Margaret Whitfield, MD": "Margaret Whitfield, MD"}
    mine = make_document("cv", unnamed, signed=False, signatures=[make_signature()])
    assert codes(checked(mine, person="margaret whitfield")) == []
    other = [make_signature(signer="Helena Brandt")]
    theirs = make_document("cv", unnamed, signed=False, signatures=other)
    assert codes(checked(theirs, person="margaret whitfield")) == ["SIGNER_MISMATCH"]


def test_a_document_with_ink_but_without_a_signature_caption_is_reviewed():
    reading = make_document("cv", {"Signature:": ""}, signed=False, marks=(STAMP,))
    assert codes(checked(reading)) == ["OCR_LOW_CONFIDENCE"]
