"""Tests of every value that is read from the generated documents."""

import pytest

from ingestion.rules.checks.check_input import SiteFacts
from samples.faults import DocumentFault
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import get_sample_site
from tests.ingestion.rules.fields.expected_values import AMERICAN, FIELDS, GERMAN, LISTS
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.test_samples import (
    DIGITAL,
    FORM,
    REMARKS,
    SCAN,
    TODAY,
    case_id,
    read_cases,
)

TYPED = [
    *((slug, where, DIGITAL, None) for slug, where in FIELDS),
    *((slug, where, FORM, None) for slug in sorted(FILLABLE) for where in (AMERICAN, GERMAN)),
]
SCANNED = [(slug, where, SCAN, None) for slug, where in FIELDS]
FAULTY = [
    *(
        (slug, AMERICAN, DIGITAL, DocumentFault.UNSIGNED)
        for slug, where in FIELDS
        if where == AMERICAN
    ),
    *((slug, GERMAN, DIGITAL, DocumentFault.EXPIRED) for slug in sorted(EXPIRING)),
    *((slug, AMERICAN, DIGITAL, DocumentFault.WRONG_SITE) for slug in PAGES),
]
RUN_OUT = {
    "irb-approval": "2026-07-08",
    "medical-licence": "2025-08-16",
    "lab-certification": "2026-05-25",
}
SMALL_PRINT = "omb_expiry"  # printed in six points: a scan loses it, and it is only a remark


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    return read_cases(tmp_path_factory.mktemp("typed"), TYPED + FAULTY)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    return read_cases(tmp_path_factory.mktemp("scanned"), SCANNED)


def verdict_on(case, readings):
    slug, where, *_ = case
    sent_by = SiteFacts(where, get_sample_site(where).study.protocol_number)
    return checked(readings[case], declared=slug, site=sent_by, today=TODAY)


def values(case, verdict):
    """Return the values of the fields that are expected for this type."""
    written = FIELDS[case[:2]]
    return {field.name: field.value for field in verdict.fields if field.name in written}


def expected(case):
    return {name: value for name, (value, _) in FIELDS[case[:2]].items()}


def test_expected_values_exist_for_every_sample_type_and_country():
    assert set(FIELDS) == {(slug, where) for slug in PAGES for where in (AMERICAN, GERMAN)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", TYPED, ids=case_id)
def test_typed_text_is_read_exactly(case, typed):
    verdict = verdict_on(case, typed)
    assert values(case, verdict) == expected(case)
    assert verdict.state == "ARCHIVED"
    assert set(codes(verdict)) <= REMARKS
    if case[2] is DIGITAL:  # every value and its page is expected
        found = {field.name: (field.value, field.page) for field in verdict.fields}
        assert found == FIELDS[case[:2]] | LISTS.get(case[:2], {})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", FAULTY, ids=case_id)
def test_a_fault_changes_only_its_own_values(case, typed):
    slug, _, _, fault = case
    found, sound = values(case, verdict_on(case, typed)), expected(case)
    changed = {name for name in {*found, *sound} if found.get(name) != sound.get(name)}
    if fault is DocumentFault.UNSIGNED:
        assert changed <= {"signature_date"}
    elif fault is DocumentFault.EXPIRED:
        assert found["expiry_date"] == RUN_OUT[slug]
        assert changed <= {"expiry_date", "effective_date", "approval_date", "signature_date"}
    else:
        assert found["site_number"] == "1002"
        assert "protocol_number" not in changed


@pytest.mark.slow
@pytest.mark.parametrize("case", SCANNED, ids=case_id)
def test_scanned_text_is_read_exactly(case, scanned):
    verdict = verdict_on(case, scanned)
    sound = expected(case)
    assert {**values(case, verdict), SMALL_PRINT: ""} == {**sound, SMALL_PRINT: ""}
    assert verdict.state == "ARCHIVED"
    assert set(codes(verdict)) <= REMARKS
