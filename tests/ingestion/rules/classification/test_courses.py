"""Tests of training certificates, whose type depends on their course."""

import pytest

from ingestion.rules.classification.classify import classify
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import format_sentences
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading
from tests.ingestion.rules.printed_documents import read_documents

GCP, HUMAN = "gcp-certificate", "human-subjects-certificate"
SOCIAL, DATA = "social-behavioral-certificate", "data-specimens-certificate"
CONDUCT = "rcr-certificate"
OTHERS = [HUMAN, SOCIAL, DATA, CONDUCT]


def report(group, learners, stage="Stage 1 - Basic Course"):
    """Return the lines of a CITI completion report."""
    return make_reading(
        make_page(
            "COLLABORATIVE INSTITUTIONAL TRAINING INITIATIVE (CITI PROGRAM)",
            "COMPLETION REPORT - PART 1 OF 2",
            "COURSEWORK REQUIREMENTS",
            "Name: Margaret Whitfield (ID: 990142)",
            "Institution Affiliation: Cedar Ridge Medical Center (ID: 990)",
            f"Curriculum Group: {group}",
            f"Course Learner Group: {learners}",
            f"Stage: {stage}",
            "Record ID: 9901420",
            "Completion Date: 17-Mar-2026",
            "Expiration Date: 16-Mar-2029",
            "Minimum Passing: 80",
        )
    )


def certificate(group, learners):
    """Return the lines of a CITI certificate, whose captions are below the values."""
    return make_reading(
        make_page(
            "www.citiprogram.org",
            "This is to certify that:",
            "Margaret Whitfield",
            "Has completed the following CITI Program course:",
            group,
            "(Curriculum Group)",
            learners,
            "(Course Learner Group)",
            "1 - Basic Course",
            "(Stage)",
            "Completion Date 17-Mar-2026",
            "Expiration Date 16-Mar-2029",
            "Record ID 9901420",
        )
    )


COURSES = [
    ("GCP for Clinical Trials with Investigational Drugs and Medical Devices (ICH Focus)",
     "GCP for Clinical Trials with Investigational Drugs and Medical Devices (ICH Focus)", GCP),
    ("Good Clinical Practice (GCP)", "GCP (U.S. FDA Focus)", GCP),
    ("Good Clinical Practice and ICH", "Biomedical Investigators and Key Personnel", GCP),
    ("GCP - Social and Behavioral Research Best Practices for Clinical Research",
     "GCP - Social and Behavioral Research Best Practices for Clinical Research", SOCIAL),
    ("Good Clinical Practice (GCP)",
     "GCP \u2013 Social and Behavioral Research Best Practices", SOCIAL),
    ("Human Subjects Research", "Social & Behavioral Research - Basic/Refresher", SOCIAL),
    ("Human Research", "Group 2. Social and Behavioral Research Investigators", SOCIAL),
    ("Social-Behavioral-Educational (SBE) Comprehensive",
     "Social-Behavioral-Educational (SBE) Foundations", SOCIAL),
    ("Human Research", "Data or Specimens Only Research", DATA),
    ("Human Subjects Research", "Data or Specimens Only Research", DATA),
    ("Human Research", "Biomedical Research Investigators", HUMAN),
    ("Human Subjects Research (HSR)", "Biomedical (Biomed) Comprehensive", HUMAN),
    ("Responsible Conduct of Research (RCR)", "Biomedical Responsible Conduct of Research",
     CONDUCT),
    ("RCR for Engineers", "Responsible Conduct of Research for Engineers", CONDUCT),
]  # fmt: skip


@pytest.mark.parametrize("worded", [report, certificate])
@pytest.mark.parametrize(("group", "learners", "slug"), COURSES)
def test_the_course_decides_the_type_of_a_certificate(group, learners, slug, worded):
    reading = worded(group, learners)
    assert classify(reading).slug == slug
    verdict = checked(reading, declared=slug, person="Margaret Whitfield")
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", [])


@pytest.mark.parametrize("worded", [report, certificate])
@pytest.mark.parametrize(("group", "learners", "slug"), [c for c in COURSES if c[2] != GCP])
def test_another_course_is_not_filed_as_a_gcp_certificate(group, learners, slug, worded):
    verdict = checked(worded(group, learners), declared=GCP, person="Margaret Whitfield")
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["DOC_TYPE_CONFLICT"])
    texts = format_sentences("DOC_TYPE_CONFLICT", verdict.primary.facts)
    assert TYPES[slug].noun in texts.what
    assert "not a GCP certificate" in texts.what
    named = verdict.primary.facts["evidence"].split(", ")
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("group", "learners"),
    [
        ("Conflicts of Interest", "Conflicts of Interest"),
        ("Information Privacy Security (IPS)", "Information Privacy Security (IPS)"),
        ("Working with the IACUC", "Animal Care and Use"),
    ],
)
@pytest.mark.parametrize("worded", [report, certificate])
def test_a_certificate_of_an_unknown_course_is_reviewed(group, learners, worded):
    verdict = checked(worded(group, learners), declared=GCP)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["DOC_TYPE_UNRECOGNIZED"])


@pytest.mark.parametrize("slug", OTHERS)
def test_no_other_course_is_required_or_counts_as_gcp(slug):
    assert classify(make_document(slug), GCP).slug != GCP


def test_a_printed_expiry_date_has_priority_over_the_maximum_age():
    old = {"17 March 2026": "17 March 2022"}
    assert codes(checked(make_document(GCP, old), declared=GCP)) == ["STALE_DOCUMENT"]
    printed = {"17 March 2026": "17 March 2022     Expiration Date: 16 March 2027"}
    verdict = checked(make_document(GCP, printed), declared=GCP)
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", [])
    assert verdict.expires.isoformat() == "2027-03-16"
    over = {"17 March 2026": "17 March 2025     Expiration Date: 16 March 2026"}
    assert codes(checked(make_document(GCP, over), declared=GCP)) == ["EXPIRED_DOCUMENT"]


REAL = {
    "055_bernardbernabe__citiCompletionCertificate.pdf": DATA,
    "089_kmdunn__CITI_Certificate.pdf": SOCIAL,
    "011_CERTIFICATIONS__ICH-GCP_E6_R2.pdf": GCP,
}


@pytest.mark.slow
def test_real_certificates_are_classified_by_their_course(corpus, tmp_path):
    names = [name for name in REAL if (corpus / "real" / name).exists()]
    if not names:
        pytest.skip("the real documents are not here")
    documents = {name: (corpus / "real" / name).read_bytes() for name in names}
    readings = read_documents(tmp_path, documents)
    for name in names:
        assert classify(readings[name]).slug == REAL[name], name
        verdict = checked(readings[name], declared=GCP)
        assert (verdict.state == "ARCHIVED") == (REAL[name] == GCP)
