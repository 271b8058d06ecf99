"""Tests of `assess_corpus` with generated documents that are really read."""

import hashlib
import json
import re
import time
from datetime import date
from pathlib import Path

import pypdf
import pytest
from django.core.management import CommandError, call_command
from django_otp.oath import TOTP
from reportlab.pdfgen import canvas

from audit import background_jobs, job_runs
from audit.job_runs import JobCancelled
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.models import Entry
from ingestion.assessment import job as job_module
from ingestion.assessment.corpus import CorpusError
from ingestion.assessment.criteria_checks import check_criteria
from ingestion.assessment.language import identify_language
from ingestion.assessment.records import SIGNED, STARTED, verify_assessments
from ingestion.assessment.truth import Criteria, Truth
from ingestion.models import Assessment, Document
from ingestion.rules.document_types import name_rules
from ingestion.storage.archive import get_archive
from ingestion.storage.archive_verification import PARTS, verify_parts
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import get_sample_site
from sites.accounts import second_factor
from sites.models import Site
from tests.factories import make_site, make_staff
from tests.ingestion.learning.stored_models import make_model

TODAY = date(2026, 11, 20)
SITE = get_sample_site("1001")
pytestmark = pytest.mark.django_db


def sample(slug, **options):
    return make_sample(slug, today=TODAY, site=SITE, **options)


@pytest.fixture
def corpus(tmp_path):
    """Return a folder with a good document, an unsigned one, a bundle and a file of no use."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "approval.pdf").write_bytes(sample("irb-approval"))
    (folder / "unsigned.pdf").write_bytes(sample("cv", fault=DocumentFault.UNSIGNED))
    (folder / "letter.xlsx").write_bytes(sample("irb-approval", fault=DocumentFault.A_SPREADSHEET))
    writer = pypdf.PdfWriter()
    for slug in ("irb-approval", "medical-licence"):
        path = tmp_path / f"{slug}.pdf"
        path.write_bytes(sample(slug))
        writer.append(path)
    writer.write(folder / "bundle.pdf")
    writer.close()
    return folder


@pytest.fixture
def pages(corpus):
    with pypdf.PdfReader(corpus / "approval.pdf") as reader:
        return len(reader.pages)


def assess(capsys, *arguments):
    call_command("assess_corpus", *map(str, arguments), "--day", TODAY.isoformat())
    return capsys.readouterr().out


def test_files_are_judged_as_filing_would_and_nothing_is_stored(corpus, capsys, pages):
    before = Entry.objects.count()
    output = json.loads(assess(capsys, corpus, "--json"))
    files = {file["file"]: file for file in output["files"]}
    assert files["approval.pdf"]["state"] == "ARCHIVED"
    assert files["unsigned.pdf"]["codes"] == ["SIGNATURE_MISSING"]
    assert (files["letter.xlsx"]["state"], files["letter.xlsx"]["documents"]) == ("REJECTED", [])
    (document,) = files["approval.pdf"]["documents"]
    assert (document["pages"], document["type"]) == ([1, pages], "irb-approval")
    assert document["candidates"][0][0] == "irb-approval"
    assert document["candidates"][0][1] > 0.9
    assert document["language"] == "en"
    assert date.fromisoformat(document["fields"]["approval_date"]) < TODAY
    parts = [(part["pages"], part["type"]) for part in files["bundle.pdf"]["documents"]]
    assert parts == [([1, pages], "irb-approval"), ([pages + 1] * 2, "medical-licence")]
    assert output["totals"] == {}
    assert "SITE_MISMATCH" in output["skipped"]
    assert (Entry.objects.count(), Document.objects.count()) == (before, 0)


@pytest.mark.slow
def test_the_register_of_a_site_is_used_if_a_site_is_named(corpus, capsys):
    make_site("0999")
    output = json.loads(assess(capsys, corpus, "--json", "--site", "0999"))
    files = {file["file"]: file for file in output["files"]}
    assert "SITE_MISMATCH" not in output["skipped"]
    assert "DUPLICATE_CONTENT" in output["skipped"]
    assert "SITE_MISMATCH" in files["approval.pdf"]["codes"]


NUMERIC_LETTER = (
    "Northfield University Institutional Review Board",
    "NOTICE OF IRB APPROVAL",
    "Principal Investigator: Ann Smith, MD",
    "Protocol Number: SLX-301",
    "Protocol Title: Sleep and shift work of rural paramedics",
    "Approval Date: 02/06/2026",
    "The Institutional Review Board has reviewed and approved the above study.",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("country", "day"), [("Ireland", "2026-06-02"), ("USA", "2026-02-06"), ("", "02/06/2026")]
)
def test_the_country_of_a_site_decides_about_the_order_of_day_and_month(
    tmp_path, capsys, country, day
):
    page = canvas.Canvas(str(tmp_path / "letter.pdf"))
    for number, line in enumerate(NUMERIC_LETTER):
        page.drawString(72, 760 - 22 * number, line)
    page.save()
    site = make_site("0999")
    Site.objects.filter(pk=site.pk).update(country=country)
    [file] = json.loads(assess(capsys, tmp_path, "--json", "--site", "0999"))["files"]
    assert file["documents"][0]["fields"]["approval_date"] == day
    assert ("VALUE_IN_DOUBT" in file["codes"]) is (not country)


def write_truth(corpus, criteria, pages):
    documents = [
        {"pages": [1, pages], "type": "irb-approval"},
        {"pages": [pages + 1] * 2, "type": "medical-licence"},
    ]
    files = [
        {"file": "approval.pdf", "pages": pages, "type": "irb-approval", "state": "ARCHIVED"},
        {"file": "unsigned.pdf", "pages": 1, "type": "cv", "state": "REJECTED"},
        {"file": "bundle.pdf", "documents": documents},
    ]
    path = corpus.parent / "truth.json"
    path.write_text(json.dumps({"files": files, "criteria": criteria}))
    return path


@pytest.mark.slow
def test_met_criteria_end_with_0_and_totals_are_printed(corpus, capsys, pages):
    output = assess(capsys, corpus, "--truth", write_truth(corpus, {}, pages))
    assert "Every criterion is met." in output
    assert re.search(r"^  recognised +1\.0$", output, re.MULTILINE)
    assert re.search(r"^  cv +1 documents, recall 1\.0, precision 1\.0$", output, re.MULTILINE)
    assert "without --site, not checked: SITE_MISMATCH" in output
    assert "approval_date: 2026" in output


@pytest.mark.slow
def test_a_missed_criterion_ends_with_1_and_is_named(corpus, capsys, pages):
    path = write_truth(corpus, {}, pages)
    path.write_text(path.read_text().replace('"type": "cv"', '"type": "irb-roster"'))
    with pytest.raises(SystemExit) as ended:
        assess(capsys, corpus, "--truth", path)
    assert ended.value.code == 1
    assert "MISSED: Documents with the right type: 3 of 4." in capsys.readouterr().out


@pytest.mark.parametrize("case", ["no folder", "no site", "no truth", "no files"])
def test_an_assessment_that_cannot_run_ends_with_2(corpus, tmp_path, case):
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments = {
        "no folder": [corpus / "missing"],
        "no site": [corpus, "--site", "7777"],
        "no truth": [corpus, "--truth", corpus / "missing.json"],
        "no files": [empty],
    }[case]
    with pytest.raises(CommandError) as refused:
        call_command("assess_corpus", *map(str, arguments))
    assert refused.value.returncode == 2


def copied(row):
    return {
        each.attname: getattr(row, each.attname)
        for each in row._meta.concrete_fields
        if not each.primary_key
    }


def totp_code(device, steps=0):
    totp = TOTP(device.bin_key)
    totp.time = time.time() + steps * 30
    return f"{totp.token():06}"


def test_criteria_of_the_settings_and_of_the_truth_apply_together(corpus, capsys, pages, settings):
    truth = write_truth(corpus, {"max_false_types": 3}, pages)
    settings.ASSESSMENT_CRITERIA = ["max_false_types=1", "min_values_exact=0.2"]
    assert check_criteria() == []
    both = Criteria.parse(settings.ASSESSMENT_CRITERIA).tightened_by(Truth.load(truth).criteria)
    assert (both.max_false_types, both.min_values_exact, both.min_recognised) == (1, 0.2, 0.9)
    settings.ASSESSMENT_CRITERIA = ["min_boundaries_f1=2"]
    assert [each.id for each in check_criteria()] == ["ingestion.E019"]
    with pytest.raises(CommandError, match="min_boundaries_f1"):
        assess(capsys, corpus, "--truth", truth)


@pytest.mark.slow
def test_the_language_of_a_document_is_named_if_it_has_enough_text():
    english = "The committee has reviewed the study and approves it for one year from this day."
    german = "Die Kommission hat die Studie geprüft und stimmt ihr für die Dauer eines Jahres zu."
    assert [identify_language(text) for text in (english, german, "Page 1 of 2")] == [
        "en", "de", None
    ]  # fmt: skip


class TestRecord:
    @pytest.fixture(autouse=True)
    def _folders(self, settings, tmp_path):
        settings.ARCHIVE_DIR = tmp_path / "archive"

    @pytest.fixture
    def small(self, tmp_path):
        """Return a folder with one file that is no document, which is judged at once."""
        folder = tmp_path / "small"
        folder.mkdir()
        (folder / "note.txt").write_text("Not a document.")
        return folder

    @pytest.fixture
    def ines(self):
        return make_staff("QA leads", "ines", printed_name="Inês Duarte")

    @pytest.fixture
    def typed(self, monkeypatch):
        """Return the list of what the signer types, the first answer first."""
        answers = ["correct horse"]
        monkeypatch.setattr("getpass.getpass", lambda _prompt: answers.pop(0))
        return answers

    def test_the_result_is_archived_and_its_entry_is_signed(
        self, corpus, capsys, pages, ines, typed
    ):
        truth = write_truth(corpus, {"min_recognised": 0.5}, pages)
        assess(capsys, corpus, "--truth", truth, "--json", "--record", "--by", "ines")
        row = Assessment.objects.get()
        started, signed = (
            queries.list_entries_after([each], 0, 9)[0] for each in (STARTED, SIGNED)
        )
        assert started.seq < signed.seq
        assert "min_recognised = 0.5" in started.detail["criteria"]
        assert started.detail["criteria"] == signed.detail["criteria"]
        assert (signed.actor, signed.subject, signed.code) == (
            ines.actor_name, row.subject, "PASSED"
        )  # fmt: skip
        assert signed.detail["printed_name"] == "Inês Duarte"
        assert signed.detail["truth"] == hashlib.sha256(truth.read_bytes()).hexdigest()
        with get_archive().open(row.sha256) as opened:
            content = json.load(opened)
        assert content["plan"]["file_sha256"]["approval.pdf"] == (
            hashlib.sha256((corpus / "approval.pdf").read_bytes()).hexdigest()
        )
        assert {file["file"] for file in content["files"]} == {
            "approval.pdf", "unsigned.pdf", "bundle.pdf"
        }  # fmt: skip
        assert list(verify_assessments()) == []
        assert verify_parts(PARTS, asked_by="system:tests").counts["orphaned"] == 0

    def test_a_changed_row_no_longer_agrees_with_its_signature(self, small, capsys, ines, typed):
        assess(capsys, small, "--record", "--by", "ines")
        row = Assessment.objects.get()
        Assessment.objects.update(is_passed=False)
        assert "is not as it was signed" in next(verify_assessments())
        Assessment.objects.all()._raw_delete("default")
        assert "row is missing" in next(verify_assessments())
        Assessment.objects.bulk_create([row, Assessment(**copied(row), pk=row.pk + 1)])
        assert "has no entry" in next(verify_assessments())
        Assessment.objects.filter(pk__gt=row.pk)._raw_delete("default")

    def test_a_wrong_password_leaves_no_result(self, small, capsys, ines, typed):
        typed[:] = ["wrong"]
        with pytest.raises(CommandError, match="incorrect") as refused:
            assess(capsys, small, "--record", "--by", "ines")
        assert refused.value.returncode == 2
        assert not Assessment.objects.exists()

    @pytest.mark.slow
    def test_a_person_with_a_second_factor_also_enters_a_code(self, small, capsys, ines, typed):
        device = second_factor.begin_setup(ines)
        second_factor.set_up(ines, totp_code(device, steps=-1))
        typed.append(totp_code(device))
        assess(capsys, small, "--record", "--by", "ines")
        assert Assessment.objects.count() == 1
        typed[:] = ["correct horse", "000000"]
        with pytest.raises(CommandError, match="code is incorrect"):
            assess(capsys, small, "--record", "--by", "ines")

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["--record"], "belong together"),
            (["--by", "ines"], "belong together"),
            (["--record", "--by", "nobody"], "no active user"),
            (["--record", "--by", "rafael"], "does not have the permission"),
        ],
    )
    def test_nothing_is_read_for_a_person_who_may_not_sign(self, small, ines, arguments, why):
        make_staff("QA reviewers", "rafael")
        with pytest.raises(CommandError, match=why) as refused:
            call_command("assess_corpus", str(small), *arguments)
        assert refused.value.returncode == 2
        assert not queries.list_entries_after([STARTED], 0, 1)


@pytest.mark.slow
def test_a_learned_model_is_assessed_before_it_is_active(corpus, capsys):
    model = make_model()
    output = json.loads(assess(capsys, corpus, "--json", "--model", model.pk))
    assert output["rules"] == name_rules(model.sha256)
    with pytest.raises(CommandError, match="There is no model 77") as refused:
        assess(capsys, corpus, "--model", 77)
    assert refused.value.returncode == 2


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)  # the heartbeat of the job has its own connection
def test_a_corpus_is_assessed_as_a_job_that_can_be_cancelled(corpus, settings, tmp_path):
    settings.ASSESSMENT_DIR, settings.EXPORT_DIR = corpus.parent, tmp_path / "exports"
    arguments = {"folder": corpus.name, "site": "", "day": "2026-11-20", "model": "built-in"}
    job = background_jobs.request_job(job_module.KIND, arguments, Actor("user:7"))
    assert job_runs.run_next_job()
    job.refresh_from_db()
    assert (job.state, job.error, job.done) == ("done", "", 4)
    content = json.loads(Path(job.result["path"]).read_text())
    assert {file["file"] for file in content["files"]} == {path.name for path in corpus.iterdir()}
    assert len(content["plan"]["file_sha256"]) == 4
    second = background_jobs.request_job(job_module.KIND, arguments, Actor("user:7"))
    second.is_stop_requested = True
    with pytest.raises(JobCancelled):
        job_module.run_assessment_job(second)


def test_a_corpus_outside_its_folder_is_refused(settings, tmp_path):
    settings.ASSESSMENT_DIR = tmp_path / "corpora"
    settings.ASSESSMENT_DIR.mkdir()
    (settings.ASSESSMENT_DIR / "link").symlink_to(tmp_path)
    for name in ("..", "link", "/etc", "none"):
        with pytest.raises(CorpusError, match="no folder"):
            job_module.find_folder(name)
