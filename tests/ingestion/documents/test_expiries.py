"""Tests of warnings before documents on file expire."""

from datetime import date, timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from audit.ledger.actors import add_process
from audit.ledger.queries import list_entries
from ingestion.documents import expiries
from ingestion.documents.expiries import ExpiryCounts
from ingestion.models import Document, Extraction, Finding, ValidityOverride
from ingestion.rules.findings import RuleFinding
from sites.models import Site
from tests.factories import make_read, make_site
from web.documents.outcomes import describe_findings

pytestmark = pytest.mark.django_db
TODAY = date(2026, 11, 20)


def licence(*found, days=20, site=None, **rest):
    ends = TODAY + timedelta(days=days)
    return make_read(site or make_site(), "medical-licence", *found, expiry_date=ends, **rest)


def run_night(later=0):
    return expiries.record_expiries(today=TODAY + timedelta(days=later))


def list_notices(document):
    return list(document.findings.order_by("pk").values_list("code", "runs_out", "days_before"))


def events(document):
    return [entry.event for entry in list_entries(document.subject)][3:]


def test_an_expiring_document_has_three_warnings_and_one_notice():
    document = licence(days=100)
    counts = [run_night(later) for later in range(105)]
    assert [at for at, each in enumerate(counts) if each.expiring] == [10, 70, 93]
    assert [at for at, each in enumerate(counts) if each.expired] == [101]
    ends = TODAY + timedelta(days=100)
    assert list_notices(document) == [
        ("EXPIRES_SOON", ends, 90),
        ("EXPIRES_SOON", ends, 30),
        ("EXPIRES_SOON", ends, 7),
        ("EXPIRED_DOCUMENT", ends, 0),
    ]
    assert events(document) == [*["document.expires_soon"] * 3, "document.ran_out"]


def test_a_warning_is_recorded_with_the_rules_version_and_without_a_change_of_state():
    document = licence(days=20)
    run_night()
    entry = list_entries(document.subject)[-1]
    assert (entry.code, entry.to_state) == ("EXPIRES_SOON", "")
    assert entry.actor == add_process("system:expiries")
    assert entry.detail["days_before"] == 30
    assert entry.detail["findings"][0]["facts"] == {"expires": "2026-12-10", "days": 20}
    document.refresh_from_db()
    assert document.state == "ARCHIVED"


def test_a_second_run_on_the_same_day_records_nothing():
    document = licence(days=20)
    assert [run_night(), run_night(), run_night(1)] == [
        ExpiryCounts(1, 0),
        ExpiryCounts(0, 0),
        ExpiryCounts(0, 0),
    ]
    assert len(list_notices(document)) == 1


def test_after_a_missed_night_the_current_warning_is_recorded():
    licence(days=5)
    licence(days=-3)
    assert run_night() == ExpiryCounts(expiring=1, expired=1)
    assert set(Finding.objects.values_list("days_before", flat=True)) == {7, 0}


def test_a_warning_of_the_filing_is_not_repeated():
    soon = RuleFinding("EXPIRES_SOON", facts={"expires": "2026-12-10", "days": 25})
    document = licence(soon, days=20)
    assert run_night() == ExpiryCounts(0, 0)
    assert run_night(13) == ExpiryCounts(1, 0)
    assert list_notices(document)[-1][2] == 7


@pytest.mark.parametrize("state", ["REJECTED", "IN_REVIEW"])
def test_only_documents_on_file_are_checked(state):
    licence(RuleFinding("SIGNATURE_MISSING"), state=state)
    assert run_night() == ExpiryCounts(0, 0)


def test_replaced_versions_are_not_checked():
    site = make_site()
    licence(site=site, days=5)
    licence(site=site, days=500)
    assert run_night() == ExpiryCounts(0, 0)


def test_a_document_without_an_expiry_date_never_expires():
    make_read(make_site(), "form-fda-1572", signature_date="2019-01-01")
    assert run_night() == ExpiryCounts(0, 0)


def gcp(site):
    return make_read(site, "gcp-certificate", completion_date=date(2023, 11, 1))


def test_an_active_site_is_not_warned_about_a_certificate_that_was_valid_at_its_activation():
    site = make_site()
    document = gcp(site)
    Site.objects.filter(pk=site.pk).update(activated_on=date(2025, 1, 1))
    assert run_night() == ExpiryCounts(0, 0)
    Site.objects.filter(pk=site.pk).update(activated_on=None)
    assert run_night() == ExpiryCounts(0, 1)
    assert list_notices(document)[0][1] == date(2026, 11, 1)


@pytest.mark.parametrize(
    ("terms", "noted"),
    [
        ({"max_age_months": 12}, ExpiryCounts(0, 1)),
        ({"max_age_months": 16}, ExpiryCounts(1, 0)),
        ({"max_age_months": 0}, ExpiryCounts(0, 0)),
        ({"warn_days": "300"}, ExpiryCounts(1, 0)),
        ({}, ExpiryCounts(0, 0)),
    ],
)
def test_a_validity_override_applies_to_documents_on_file(terms, noted):
    site = make_site()
    make_read(site, "cv", signature_date=date(2025, 9, 1))
    for study in (site.study, make_site().study):
        assert study == site.study
    ValidityOverride.objects.create(
        study=site.study, document_type="cv", reason="Sponsor SOP 12", **terms
    )
    assert (run_night(), run_night()) == (noted, ExpiryCounts(0, 0))


def test_a_later_expiry_date_has_warnings_of_its_own():
    site = make_site()
    document = make_read(site, "cv", signature_date=TODAY - timedelta(days=700))
    run_night()
    ValidityOverride.objects.create(
        study=site.study, document_type="cv", max_age_months=25, reason="Sponsor SOP 12"
    )
    run_night()
    assert [step for _, _, step in list_notices(document)] == [30, 90]


def test_the_next_run_continues_one_that_died(monkeypatch):
    monkeypatch.setattr(expiries, "DOCUMENTS_PER_PAGE", 2)
    site = make_site()
    documents = [licence(site=site, doc_id=f"licence-{n}") for n in range(5)]
    record, calls = Document.record_at_revision, []

    def dies_at_the_fourth(*args, **options):
        calls.append(args)
        if len(calls) == 4:
            raise RuntimeError("killed")
        record(*args, **options)

    monkeypatch.setattr(Document, "record_at_revision", dies_at_the_fourth)
    with pytest.raises(RuntimeError):
        run_night()
    assert [len(list_notices(each)) for each in documents] == [1, 1, 0, 0, 0]
    monkeypatch.setattr(Document, "record_at_revision", record)
    assert run_night() == ExpiryCounts(3, 0)
    assert [len(list_notices(each)) for each in documents] == [1, 1, 1, 1, 1]


def test_a_document_that_is_moved_during_the_run_is_skipped(monkeypatch):
    document = licence()
    due = expiries._find_due

    def withdrawn_meanwhile(read, today):
        found = due(read, today)
        Document.objects.filter(pk=document.pk).update(revision=document.revision + 1)
        return found

    monkeypatch.setattr(expiries, "_find_due", withdrawn_meanwhile)
    assert run_night() == ExpiryCounts(0, 0)
    assert list_notices(document) == []


def test_many_documents_cost_few_queries(django_assert_max_num_queries):
    """Each write is one statement, and rows are read page by page."""
    site = make_site()
    for number in range(12):
        licence(site=site, doc_id=f"licence-{number}", days=300)
    with django_assert_max_num_queries(2):
        assert run_night() == ExpiryCounts(0, 0)
    run_night(220)
    with django_assert_max_num_queries(6):
        assert run_night(220) == ExpiryCounts(0, 0)


def test_an_expired_document_is_not_read_again_after_its_notice(django_assert_max_num_queries):
    licence(days=-3)
    assert run_night() == ExpiryCounts(0, 1)
    with django_assert_max_num_queries(2):
        run_night(1)


def test_expiry_dates_are_found_by_an_index():
    rows = Extraction.objects.filter(expires__lte=TODAY).order_by().values("pk")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
    assert "extractions_by_last_day" in rows.explain()


def test_the_page_shows_the_last_warning_beside_the_findings_of_the_filing():
    old = RuleFinding("FORM_EDITION_OUTDATED", facts={"printed": "2022-03-31"})
    first = RuleFinding("EXPIRES_SOON", facts={"expires": "2026-12-10", "days": 88})
    document = licence(old, first, days=20)
    run_night()
    run_night(14)
    document.refresh_from_db()
    displays = describe_findings(document)
    assert [display.code for display in displays] == ["FORM_EDITION_OUTDATED", "EXPIRES_SOON"]
    assert "days left: 6" in displays[-1].sentences.what
    run_night(30)
    sentences = describe_findings(document)[-1].sentences
    assert sentences.what == "This medical licence expired on 10 December 2026."
    assert sentences.why.startswith("It has been on file since ")


def test_the_command_prints_what_it_recorded(capsys):
    ends = date.today() + timedelta(days=5)  # noqa: DTZ011 - days apart, whatever the zone
    make_read(make_site(), "medical-licence", expiry_date=ends)
    call_command("watch_expiries", dry_run=True)
    call_command("watch_expiries")
    call_command("watch_expiries")
    assert capsys.readouterr().out.splitlines() == [
        "1 documents expiring soon and 0 expired documents would be recorded.",
        "1 documents expiring soon and 0 expired documents recorded.",
        "0 documents expiring soon and 0 expired documents recorded.",
    ]
