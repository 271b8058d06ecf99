import pytest

from ingestion.reading.results import TextSource
from ingestion.rules.classification.classify import TypeMatch, classify, suggest_type
from tests.ingestion.rules.documents import COMPLETE, make_document
from tests.ingestion.rules.pages import make_page, make_reading

every_type = pytest.mark.parametrize("slug", COMPLETE)


@every_type
def test_a_complete_document_is_recognised_without_a_declared_type(slug):
    found = classify(make_document(slug))
    assert (found.slug, found.fit) == (slug, TypeMatch.AGREED)


@every_type
def test_a_badly_read_scan_is_recognised_too(slug):
    misread = {"O": "0", "I": "l", "E": "E"}
    lines = [line.translate(str.maketrans(misread)) for line in COMPLETE[slug][0]]
    page = make_page(*lines, source=TextSource.OCR, confidence=80.0)
    assert classify(make_reading(page)).slug == slug


def test_misread_titles_are_recognised_if_nothing_else_was_found():
    page = make_page(
        "STATEMEHT OF INVESTICATOR", "FORN FDA 1572", "NANE AND ADDRESS OF INVESTIGATDR"
    )
    assert classify(make_reading(page)).fit is TypeMatch.UNRECOGNIZED
    lines = [*page.text.splitlines(), "form FDA 1572", "FOOD AND DRUG ADMINISTRATION"]
    lines += ["I agree to personally conduct or supervise the described investigations."]
    lines += ["Name and address of the clinical research facilities", "Names of subinvestigators"]
    scan = make_page(*lines, "Names of the clinical laboratory facility", source=TextSource.OCR)
    assert classify(make_reading(scan)).slug == "form-fda-1572"


def test_a_document_that_clearly_has_another_type_is_a_conflict():
    found = classify(make_document("form-fda-1572"), "irb-approval")
    assert (found.slug, found.fit) == ("form-fda-1572", TypeMatch.CONFLICT)


def test_the_evidence_is_readable():
    found = classify(make_document("form-fda-1572"))
    assert found.best.evidence.startswith('"STATEMENT OF INVESTIGATOR" on page 1, "FORM FDA 1572"')


@pytest.mark.parametrize("declared", ["", "cv"])
def test_without_landmarks_no_type_is_recognised(declared):
    page = make_page("Dear colleagues,", "the canteen is closed on Friday.")
    found = classify(make_reading(page), declared)
    assert (found.slug, found.fit) == ("", TypeMatch.UNRECOGNIZED)


def test_two_types_with_equal_scores_are_not_decided():
    both = make_page("LABORATORY NORMAL RANGES", "MEDICAL LICENSE", "License Number", "Hemoglobin")
    assert classify(make_reading(both)).fit is TypeMatch.UNRECOGNIZED


def test_of_two_types_with_similar_scores_the_declared_one_is_accepted():
    both = make_page("NORMAL RANGES", "Hemoglobin", "MEDICAL LICENSE", "License Number")
    found = classify(make_reading(both), "lab-normal-ranges")
    assert (found.slug, found.fit) == ("lab-normal-ranges", TypeMatch.AGREED)


def test_a_form_that_mentions_a_cv_is_not_classified_as_a_cv():
    page = make_page("Attached:", *["-"] * 12, "CURRICULUM VITAE", "education", "licensure")
    assert classify(make_reading(page), "cv").fit is TypeMatch.UNRECOGNIZED


def test_an_fda_1571_is_not_classified_as_a_1572():
    page = make_page("FORM FDA 1571", "attach Form FDA 1572, the Statement of Investigator")
    assert classify(make_reading(page)).fit is TypeMatch.UNRECOGNIZED


def test_a_sponsors_own_disclosure_form_needs_no_fda_3455():
    assert "3455" not in "".join(COMPLETE["financial-disclosure"][0])
    assert classify(make_document("financial-disclosure")).slug == "financial-disclosure"


def test_an_fda_3455_is_a_financial_disclosure_as_well():
    page = make_page(
        "DISCLOSURE: FINANCIAL INTERESTS AND ARRANGEMENTS OF CLINICAL INVESTIGATORS",
        "significant payments of other sorts",
        "any proprietary interest in the product tested in the covered study",
        "any significant equity interest held by the clinical investigator",
        "FORM FDA 3455",
    )
    assert classify(make_reading(page)).slug == "financial-disclosure"


@pytest.mark.parametrize(
    ("slug", "lines"),
    [
        ("protocol-signature-page", ("Amendment number: 2", "Protocol Amendment 2, 12 Mar 2026")),
        ("protocol-signature-page", ("I have read the Investigator's Brochure, edition 6.0.",)),
        ("protocol-amendment-signature-page", ("I have read this protocol.", "Protocol title: X")),
        ("irb-approval", ("A membership roster is enclosed.", "The list of members may change.")),
        ("irb-approval", ("Protocol Amendment 2", "Informed Consent Form, version 3.0")),
        ("irb-approval", ("Harold Simmons, Chair", "Ruth Alder, Unaffiliated, Non-scientific")),
        ("irb-roster", ("This Board has approved its rules.", "It keeps approval letters.")),
        ("informed-consent-form", ("IRB approval", "It was approved on 14 Aug 2026.")),
        ("clinical-trial-agreement", ("The Recipient shall hold Confidential Information",)),
        ("confidentiality-agreement", ("Governing law", "Inventions")),
        ("training-log", ("Good Clinical Practice (GCP), ICH E6", "Delegated tasks", "Initials")),
        ("gcp-certificate", ("Training date: 17 March 2026", "Topic: ICH GCP", "Trainer: MRTC")),
        ("insurance-certificate", ("Hold harmless", "Indemnification", "Issue Date: today")),
        ("cv", ("Protocol training", "Site initiation visit", "Trainer")),
        ("financial-disclosure", ("Confidential Information", "Clinical Trial Agreement")),
    ],
)
def test_a_mention_of_another_type_does_not_change_the_classification(slug, lines):
    page = make_page(*COMPLETE[slug][0], *lines)
    assert classify(make_reading(page)).slug == slug


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("PROTOCOL AMENDMENT 2 - INVESTIGATOR SIGNATURE PAGE", "protocol-amendment-signature-page"),
        ("PROTOCOL SIGNATURE PAGE (incorporating Amendment 2)", "protocol-signature-page"),
    ],
)
def test_the_title_distinguishes_protocol_pages_from_amendment_pages(title, slug):
    document = "protocol amendment 2" if "AMENDMENT 2 -" in title else "this protocol"
    page = make_page(
        title, f"I have read {document} and agree to conduct the study.", "Amendment number: 2"
    )
    assert classify(make_reading(page)).slug == slug


def test_an_approval_letter_with_the_irb_roster_is_classified_as_the_approval():
    letter, roster = (COMPLETE[slug][0] for slug in ("irb-approval", "irb-roster"))
    both = make_reading(make_page(*letter), make_page(*roster, number=2))
    assert classify(both).slug == "irb-approval"


@pytest.mark.parametrize(
    ("filename", "slug"),
    [
        ("Form_1572_site0203.pdf", "form-fda-1572"),
        ("Lab_normals.pdf", "lab-normal-ranges"),
        ("CLIA certificate 2026.pdf", "lab-certification"),
        ("SLX-301_1001_cv-whitfield.pdf", "cv"),
        ("GCP-Whitfield.PDF", "gcp-certificate"),
        ("irb approval letter.pdf", "irb-approval"),
        ("medical_license.pdf", "medical-licence"),
        ("FDF Whitfield.pdf", "financial-disclosure"),
        ("DoA log.pdf", "delegation-log"),
        ("SLX-301 protocol signature page.pdf", "protocol-signature-page"),
        ("IRB roster 2026.pdf", "irb-roster"),
        ("Amendment_signature_page_2.pdf", "protocol-amendment-signature-page"),
        ("IB receipt.pdf", "brochure-acceptance"),
        ("CDA Whitfield.pdf", "confidentiality-agreement"),
        ("SLX-301 CTA signed.pdf", "clinical-trial-agreement"),
        ("ICF v3.pdf", "informed-consent-form"),
        ("training log.pdf", "training-log"),
        ("GCP training certificate.pdf", "gcp-certificate"),
        ("Insurance.pdf", "insurance-certificate"),
        ("scan0001.pdf", ""),
    ],
)
def test_a_file_name_suggests_a_type(filename, slug):
    assert suggest_type(filename) == slug
