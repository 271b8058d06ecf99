"""Tests of how long a document is valid, with the overrides of a study and site activation."""

from datetime import date, timedelta

import pytest

from ingestion.core.states import DocumentState
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.checks.validity_terms import TermsOverride
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import format_sentences, list_placeholders
from ingestion.rules.messages import MESSAGES
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import TODAY, checked, codes

CV = "27 Oct 2026"
GCP = "17 March 2026"


def site(activated_on=None, **overrides):
    named = {kind.replace("_", "-"): override for kind, override in overrides.items()}
    return SiteFacts("0203", "SLX-301", activated_on=activated_on, overrides=named)


def judged(slug, change, at):
    return checked(make_document(slug, change), declared=slug, site=at)


@pytest.mark.parametrize(
    ("months", "dated", "code"),
    [
        (None, "21 Nov 2024", "EXPIRES_SOON"),
        (None, "19 Nov 2024", "STALE_DOCUMENT"),
        (12, "21 Nov 2025", "EXPIRES_SOON"),
        (12, "19 Nov 2025", "STALE_DOCUMENT"),
        (36, "19 Nov 2024", ""),
        (0, "19 Nov 1999", ""),
    ],
)
def test_the_maximum_age_of_the_study_replaces_that_of_the_type(months, dated, code):
    verdict = judged("cv", {CV: dated}, site(cv=TermsOverride(max_age_months=months)))
    assert codes(verdict) == ([code] if code else [])


def test_the_finding_and_the_decision_contain_the_maximum_age():
    verdict = judged("cv", {CV: "19 Nov 2025"}, site(cv=TermsOverride(max_age_months=12)))
    assert verdict.primary.facts == {"dated": "2025-11-19", "months": 12, "page": 1}
    assert verdict.terms == {"months": 12}


def test_a_study_can_set_a_maximum_age_for_a_type_without_one():
    override = TermsOverride(max_age_months=12)
    verdict = judged("form-fda-1572", {"10/08/2026": "10/08/2025"}, site(form_fda_1572=override))
    assert verdict.primary.code == "STALE_DOCUMENT"


@pytest.mark.parametrize(
    ("slug", "change", "code"),
    [
        ("cv", {CV: "19 Nov 2024"}, "STALE_DOCUMENT"),
        ("medical-licence", {"16 January 2028": "19 November 2026"}, "EXPIRED_DOCUMENT"),
    ],
)
def test_a_study_can_have_expired_documents_filed_with_a_remark(slug, change, code):
    overrides = {slug.replace("-", "_"): TermsOverride(warns_only=True)}
    verdict = judged(slug, change, site(**overrides))
    assert (verdict.state, verdict.primary, codes(verdict)) == ("ARCHIVED", None, [code])
    assert "study SLX-301" in format_sentences(code, verdict.findings[0].facts).do
    assert verdict.terms["warns_only"] == 1


def test_a_remark_never_hides_another_finding():
    override = TermsOverride(warns_only=True)
    reading = make_document("cv", {CV: "19 Nov 2024", "Name: Margaret": "Site number: 0999 Name:"})
    verdict = checked(reading, declared="cv", site=site(cv=override))
    assert (verdict.state, verdict.primary.code) == (DocumentState.IN_REVIEW, "SITE_MISMATCH")
    assert codes(verdict) == ["SITE_MISMATCH", "STALE_DOCUMENT"]


@pytest.mark.parametrize(("days", "is_told"), [(120, True), (121, False), (90, True)])
def test_a_study_can_set_earlier_warnings(days, is_told):
    ends = f"{TODAY + timedelta(days=days):%d %B %Y}"
    override = TermsOverride(warn_days=(120, 14))
    verdict = judged("medical-licence", {"16 January 2028": ends}, site(medical_licence=override))
    assert codes(verdict) == (["EXPIRES_SOON"] if is_told else [])


LIVE_SINCE = date(2026, 10, 1)


@pytest.mark.parametrize(
    ("completed", "activated_on", "code"),
    [
        ("2 October 2023", None, "STALE_DOCUMENT"),
        ("2 October 2023", LIVE_SINCE, ""),
        ("1 October 2023", LIVE_SINCE, ""),
        ("30 September 2023", LIVE_SINCE, "STALE_DOCUMENT"),
        ("17 March 2026", LIVE_SINCE, ""),
        ("20 December 2023", TODAY + timedelta(days=60), "EXPIRES_SOON"),
        ("20 December 2023", TODAY + timedelta(days=10), ""),
    ],
)
def test_a_gcp_certificate_is_checked_on_the_day_of_site_activation(completed, activated_on, code):
    verdict = judged("gcp-certificate", {GCP: completed}, site(activated_on))
    assert codes(verdict) == ([code] if code else [])


def test_the_activation_of_a_site_does_not_extend_the_validity_of_a_cv():
    verdict = judged("cv", {CV: "19 Nov 2024"}, site(date(2024, 12, 1)))
    assert verdict.primary.code == "STALE_DOCUMENT"


def test_the_expiry_date_is_stored_also_for_an_active_site():
    """The activation of the site may be revoked later."""
    verdict = judged("gcp-certificate", {GCP: "2 October 2023"}, site(LIVE_SINCE))
    assert (codes(verdict), verdict.expires) == ([], date(2026, 10, 2))
    assert verdict.terms == {"months": 36, "activated_on": "2026-10-01"}


@pytest.mark.parametrize(
    ("left", "step"), [(91, None), (90, 90), (31, 90), (30, 30), (8, 30), (7, 7), (0, 7), (-1, 0)]
)
def test_the_shortest_due_warning_is_returned(left, step):
    assert site().terms(TYPES["cv"]).due_warning(left) == step


@pytest.mark.parametrize("code", ["EXPIRED_DOCUMENT", "STALE_DOCUMENT"])
def test_a_remark_has_its_own_message(code):
    assert any("study" in list_placeholders(wording) for wording in MESSAGES[code].do)
