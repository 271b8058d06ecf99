"""Tests of the comparison of an assessment with a truth."""

import pytest

from ingestion.assessment.assess import AssessedDocument, AssessedFile
from ingestion.assessment.scores import Totals, compare_with_truth, is_same_value
from ingestion.assessment.truth import Criteria, Truth, TruthError
from ingestion.rules.classification.classify import TypeCandidate
from ingestion.rules.fields.values import FieldValue


def found(slug, *, pages=(1, 1), state="ARCHIVED", candidates=(), fields=()):
    ranked = tuple(TypeCandidate(each, 0.3, "") for each in candidates)
    return AssessedDocument(pages, slug, state, (), ranked, tuple(fields))


def result(*documents):
    last = documents[-1].pages[1]
    return AssessedFile(documents[0].state, (), last, tuple(documents))


def truth(*files):
    return Truth(files=list(files)).files


def read(name, value, confidence=100.0):
    return FieldValue(name, value, 1, "native", confidence)


def test_recognition_is_counted_by_type_with_precision_and_recall():
    results = {
        "a": result(found("cv")),
        "b": result(found("irb-approval", candidates=("irb-approval", "cv"))),
        "c": result(found("")),
    }
    totals = compare_with_truth(results, truth(*({"file": name, "type": "cv"} for name in "abc")))
    assert (totals.documents, totals.recognised, totals.recognised_in_three) == (3, 1, 2)
    assert totals.as_json()["types"]["cv"] == {
        "documents": 3, "recall": 0.3333, "precision": 1.0
    }  # fmt: skip
    assert totals.as_json()["types"]["irb-approval"]["precision"] == 0.0


def test_a_second_right_type_and_the_types_of_a_course_count_as_right():
    results = {"a": result(found("cv")), "b": result(found("human-subjects-certificate"))}
    files = truth(
        {"file": "a", "type": "irb-roster", "also_ok": "cv"},
        {"file": "b", "type": "gcp-certificate", "subtype": "human subjects (CITI)"},
    )
    assert compare_with_truth(results, files).recognised == 2


def test_a_type_given_to_a_document_without_a_supported_type_is_named():
    totals = compare_with_truth(
        {"a": result(found("cv"))}, truth({"file": "a", "type": "other:a poster"})
    )
    assert totals.false_types == ["a, pages 1 to 1"]
    assert totals.false_acceptances == ["a, pages 1 to 1"]


@pytest.mark.parametrize(
    ("state", "true_state", "acceptances", "rejections"),
    [
        ("ARCHIVED", "ARCHIVED", 0, 0),
        ("ARCHIVED", None, 0, 0),
        ("ARCHIVED", "REJECTED", 1, 0),
        ("REJECTED", "ARCHIVED", 0, 1),
        ("REJECTED", None, 0, 0),
        ("IN_REVIEW", "ARCHIVED", 0, 0),
    ],
)
def test_wrong_decisions_are_counted_and_a_review_is_none(
    state, true_state, acceptances, rejections
):
    files = truth({"file": "a", "type": "cv", "state": true_state})
    totals = compare_with_truth({"a": result(found("cv", state=state))}, files)
    assert len(totals.false_acceptances) == acceptances
    assert len(totals.false_rejections) == rejections


def test_boundaries_are_compared_by_the_first_pages_of_documents():
    documents = [
        {"pages": [1, 2], "type": "cv"},
        {"pages": [3, 3], "type": "irb-approval"},
        {"pages": [4, 6], "type": "cv"},
    ]
    parts = (
        found("cv", pages=(1, 2)),
        found("irb-approval", pages=(3, 4)),
        found("cv", pages=(5, 6)),
    )
    totals = compare_with_truth({"a": result(*parts)}, truth({"file": "a", "documents": documents}))
    assert totals.boundaries_f1 == pytest.approx(0.5)
    assert totals.recognised == 3


def test_values_are_exact_missing_or_wrong_and_only_a_sure_one_is_wrong_without_doubt():
    values = {
        "approval_date": "08.11.23",
        "expiry_date": "8 November 2028",
        "investigator": "Ana Ruiz",
        "protocol_number": "SLX-301",
        "parking": "none",
    }
    fields = [
        read("approval_date", "2023-11-08"),
        read("expiry_date", "2027-11-08"),
        read("investigator", "Ann Ruiz", confidence=50.0),
    ]
    files = truth({"file": "a", "type": "irb-approval", "values": values})
    totals = compare_with_truth({"a": result(found("irb-approval", fields=fields))}, files)
    assert (totals.values, totals.values_exact) == (4, 1)
    assert totals.values_wrong == [
        "a, pages 1 to 1: expiry_date is '2027-11-08', not '8 November 2028'"
    ]


@pytest.mark.parametrize(("printed", "exact"), [("v2", 1), ("2.0", 1), ("2.1", 0), ("draft", 0)])
def test_a_version_is_compared_as_in_checks(printed, exact):
    files = truth({"file": "a", "type": "informed-consent-form", "values": {"version": printed}})
    fields = [read("version", "2")]
    totals = compare_with_truth({"a": result(found("informed-consent-form", fields=fields))}, files)
    assert totals.values_exact == exact


@pytest.mark.parametrize(
    ("read_value", "printed", "is_same"),
    [
        ("2023-11-08", "08.11.23", True),
        ("2011-02-07", "02/07/2011", True),
        ("2011-07-02", "02/07/2011", True),
        ("2011-07-03", "02/07/2011", False),
        ("Ana Ruiz", "ANA  RUIZ", True),
        ("Ana Ruiz", "Ana M. Ruiz", False),
    ],
)
def test_values_are_compared_without_case_and_dates_as_days(read_value, printed, is_same):
    assert is_same_value(read_value, printed) is is_same


@pytest.mark.parametrize(
    ("read_name", "printed", "is_same"),
    [
        ("Ms. Ana Ruiz", "Ana Ruiz, PhD", True),
        ("Dr. Ruiz", "Dr. Ana Ruiz", False),
        ("Ana Ruyz", "Ana Ruiz", False),
        ("Ruiz, Ana B., MD", "Ana B. Ruiz, MD", True),
        ("Ana Ruiz", "Ana Ruiz, D.O.", True),
        ("Miriam Hahn", "Miriam Hahn, DO, FACOI", True),
        ("SMITH, ANNA", "SMITH, MARIA", False),  # no letters of a fellowship
    ],
)
def test_titles_and_degrees_of_a_name_do_not_matter(read_name, printed, is_same):
    assert is_same_value(read_name, printed, is_name=True) is is_same


def test_each_missed_criterion_is_a_sentence():
    totals = Totals(documents=10, recognised=8, recognised_in_three=10, false_types=["a", "b"])
    assert list(totals.failed_criteria(Criteria(max_false_types=1))) == [
        "Documents with the right type: 8 of 10. At least 90.0% are required.",
        "2 documents of no supported type were given one; at most 1 are allowed: a, b.",
    ]


def test_files_of_the_truth_that_are_missing_fail_the_assessment():
    totals = compare_with_truth({}, truth({"file": "a", "type": "cv"}))
    assert list(totals.failed_criteria(Criteria())) == [
        "These files of the truth were not found: a."
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ('[{"type": "cv"}]', "files.0.file: Field required"),
        ('{"files": [], "criteria": {"min_recognised": 2}}', "criteria.min_recognised"),
        ('{"files": [], "criterion": {}}', "criterion: Extra inputs"),
    ],
)
def test_a_truth_file_with_an_error_is_refused_with_the_entry(tmp_path, content, message):
    path = tmp_path / "truth.json"
    path.write_text(content)
    with pytest.raises(TruthError, match=message):
        Truth.load(path)


@pytest.mark.parametrize(
    ("true", "given", "is_right"),
    [
        ({"type": "irb-approval"}, "irb-exemption", True),
        ({"type": "irb-approval"}, "irb-disapproval", False),
        ({"type": "irb-approval", "subtype": "Exempt, category 2"}, "irb-exemption", True),
        ({"type": "irb-approval", "subtype": "Exempt, category 2"}, "irb-disapproval", False),
        ({"type": "irb-approval", "subtype": "request for changes"}, "irb-changes-requested", True),
        ({"type": "cv"}, "nih-biosketch", True),
        ({"type": "nih-biosketch"}, "cv", False),
        ({"type": "gcp-certificate", "subtype": "human subjects"}, "rcr-certificate", False),
    ],
)
def test_a_type_of_the_family_is_right_if_the_truth_leaves_it_open_or_names_it(
    true, given, is_right
):
    totals = compare_with_truth({"a": result(found(given))}, truth({"file": "a", **true}))
    assert totals.recognised == is_right
