"""Tests of the check that findings agree with the entries of the ledger."""

import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from audit.ledger import queries, redaction
from audit.ledger.actors import Actor
from audit.signing import checkpoints, key_rotation
from audit.verification import verify
from audit.verification.runs import run_check
from audit.verification.start import Mode
from ingestion.documents import expiries
from ingestion.models import Finding
from ingestion.operations import finding_check
from ingestion.operations.finding_check import check_findings_against_ledger
from ingestion.rules.findings import RuleFinding
from tests import steps
from tests.factories import make_leased, make_read, make_site, verdict

pytestmark = pytest.mark.django_db

UNSIGNED = RuleFinding(
    "SIGNATURE_MISSING", page=2, facts={"role": "the investigator", "section": "11"}
)
FOREIGN = "SIGNATURE_MISSING (page {page}) is not in this entry."
UNDATED = RuleFinding(
    "SIGNATURE_DATE_MISSING", page=2, facts={"role": "the investigator", "section": ""}
)


@pytest.fixture
def document():
    chunk, lease = make_leased()
    document = chunk.documents.get()
    steps.start_checking(document.pk, lease, sha256="ab" * 32, size=10)
    steps.conclude(document.pk, lease, verdict("REJECTED", UNSIGNED, UNDATED), pages=2)
    document.refresh_from_db()
    return document


@pytest.fixture
def tampering(document):
    """Roll the changes of a test back, because the ledger is verified after each test."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def difference_of(document, mode=Mode.FULL):
    (sentence,) = verify.verify_ledger(mode).problems
    prefix = f"{document.subject}: the findings of entry "
    assert sentence.startswith(prefix)
    return re.sub(r"^\S+: the findings of entry [\d,]+ are not as recorded: ", "", sentence)


def test_recorded_findings_agree(document):
    assert list(check_findings_against_ledger()) == []


@pytest.mark.usefixtures("tampering")
class TestChangedFindings:
    def test_a_deleted_finding_is_named(self, document):
        document.findings.filter(is_primary=False).delete()
        assert difference_of(document) == "SIGNATURE_DATE_MISSING (page 2) is missing."

    def test_the_findings_of_an_entry_are_named_if_all_were_deleted(self, document):
        document.findings.all().delete()
        assert "SIGNATURE_MISSING (page 2) is missing" in difference_of(document)

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (
                {"code": "EXPIRES_SOON"},
                (
                    "SIGNATURE_MISSING (page 2) is missing, "
                    "EXPIRES_SOON (page 2) is not in this entry."
                ),
            ),
            ({"page": 1}, "SIGNATURE_MISSING (page 2) is missing, " + FOREIGN.format(page=1)),
            (
                {"facts": {"role": "nobody"}},
                "SIGNATURE_MISSING (page 2) is missing, " + FOREIGN.format(page=2),
            ),
            ({"is_primary": False}, "nothing decided, and not SIGNATURE_MISSING."),
            ({"rules_version": "0"}, "the version of the rules differs."),
            (
                {"runs_out": timezone.now().date(), "days_before": 7},
                "the expiry date differs.",
            ),
        ],
    )
    def test_a_changed_finding_is_named(self, document, change, named):
        document.findings.filter(is_primary=True).update(**change)
        assert difference_of(document) == named

    def test_an_added_finding_is_named(self, document):
        document.findings.create(code="EXPIRES_SOON", attempt=document.revision)
        assert difference_of(document) == "EXPIRES_SOON is not in this entry."

    def test_a_finding_without_an_entry_is_named(self, document):
        document.findings.create(code="EXPIRES_SOON", attempt=99)
        assert verify.verify_ledger().problems == (
            f"{document.subject}: no entry has the finding EXPIRES_SOON.",
        )


@pytest.mark.parametrize("mode", list(Mode))
def test_a_requested_verification_checks_all_findings_in_every_mode(
    document, mode, settings, tmp_path
):
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    key_rotation.create_key(by=Actor.software("tests", "operations"))
    checkpoints.sign_all()
    run_check(Mode.FULL, asked_by="system:tests")
    with transaction.atomic():
        document.findings.all().delete()
        assert difference_of(document, mode).startswith("SIGNATURE_")
        after_a_batch = verify.verify_ledger(Mode.INCREMENTAL, with_anchors=False)
        assert after_a_batch.from_seq > 1, "it begins at the checkpoint"
        assert not after_a_batch.problems, "it checks only new findings"
        transaction.set_rollback(True)


def test_findings_of_a_redacted_entry_are_a_notice(document):
    entry = queries.list_entries(document.subject)[-1]
    redaction.redact_entry(
        entry.seq,
        reason="A name that may not be kept.",
        by=Actor("system:redact", "operations"),
        authorised_by="user:1",
    )
    (sentence,) = check_findings_against_ledger()
    assert isinstance(sentence, verify.VerificationNotice)
    assert sentence.endswith("cannot be checked: its detail is redacted.")
    with transaction.atomic():
        document.findings.filter(is_primary=True).update(code="EXPIRES_SOON")
        assert any("did not decide" in each for each in verify.verify_ledger().problems)
        transaction.set_rollback(True)


def test_warnings_about_expiry_agree_and_are_named_if_they_were_changed():
    today = timezone.now().date()
    document = make_read(make_site(), "gcp-certificate", expiry_date=today + timedelta(days=5))
    expiries.record_expiries(today=today)
    assert Finding.objects.filter(document=document, days_before=7).exists()
    assert list(check_findings_against_ledger()) == []
    with transaction.atomic():
        Finding.objects.filter(document=document).update(runs_out=today + timedelta(days=900))
        assert "the expiry date differs" in difference_of(document)
        transaction.set_rollback(True)


def test_a_document_that_changes_during_the_check_agrees(monkeypatch):
    chunk, lease = make_leased()
    document = chunk.documents.get()
    steps.start_checking(document.pk, lease, sha256="ab" * 32, size=10)
    read_entries = queries.list_entries_by_event_ids

    def change_state_first(event_ids):
        monkeypatch.setattr(queries, "list_entries_by_event_ids", read_entries)
        steps.conclude(document.pk, lease, verdict("REJECTED", UNSIGNED), pages=2)
        return read_entries(event_ids)

    monkeypatch.setattr(queries, "list_entries_by_event_ids", change_state_first)
    assert list(check_findings_against_ledger()) == []
    assert Finding.objects.exists()


def test_documents_are_compared_page_by_page(document, monkeypatch):
    monkeypatch.setattr(finding_check, "DOCUMENTS_PER_PAGE", 1)
    chunk, lease = make_leased()
    other = chunk.documents.get()
    steps.start_checking(other.pk, lease, sha256="cd" * 32, size=10)
    steps.conclude(other.pk, lease, verdict("REJECTED", UNSIGNED), pages=2)
    assert list(check_findings_against_ledger()) == []
    with transaction.atomic():
        Finding.objects.all().delete()
        assert len(verify.verify_ledger().problems) == 2
        transaction.set_rollback(True)


def test_the_number_of_queries_does_not_depend_on_the_number_of_documents(
    document, django_assert_max_num_queries
):
    for number in range(5):
        chunk, lease = make_leased()
        other = chunk.documents.get()
        steps.start_checking(other.pk, lease, sha256=f"{number}e" * 32, size=10)
        steps.conclude(other.pk, lease, verdict("REJECTED", UNSIGNED, UNDATED), pages=2)
    with django_assert_max_num_queries(4):
        assert list(check_findings_against_ledger()) == []
