"""Tests of `assess_corpus` with generated documents that are really read."""

import json
import re
from datetime import date

import pypdf
import pytest
from django.core.management import CommandError, call_command

from audit.models import Entry
from ingestion.models import Document
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import sample_site
from tests.factories import make_site

TODAY = date(2026, 11, 20)
SITE = sample_site("1001")
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
    (folder / "letter.docx").write_bytes(sample("irb-approval", fault=DocumentFault.A_WORD_FILE))
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
    assert (files["letter.docx"]["state"], files["letter.docx"]["documents"]) == ("REJECTED", [])
    (document,) = files["approval.pdf"]["documents"]
    assert (document["pages"], document["type"]) == ([1, pages], "irb-approval")
    assert document["candidates"][0][0] == "irb-approval"
    assert document["candidates"][0][1] > 0.9
    assert date.fromisoformat(document["fields"]["approval_date"]) < TODAY
    parts = [(part["pages"], part["type"]) for part in files["bundle.pdf"]["documents"]]
    assert parts == [([1, pages], "irb-approval"), ([pages + 1] * 2, "medical-licence")]
    assert output["totals"] == {}
    assert "SITE_MISMATCH" in output["skipped"]
    assert (Entry.objects.count(), Document.objects.count()) == (before, 0)


def test_the_register_of_a_site_is_used_if_a_site_is_named(corpus, capsys):
    make_site("0999")
    output = json.loads(assess(capsys, corpus, "--json", "--site", "0999"))
    files = {file["file"]: file for file in output["files"]}
    assert output["skipped"] == []
    assert "SITE_MISMATCH" in files["approval.pdf"]["codes"]


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


def test_met_criteria_end_with_0_and_totals_are_printed(corpus, capsys, pages):
    output = assess(capsys, corpus, "--truth", write_truth(corpus, {}, pages))
    assert "Every criterion is met." in output
    assert re.search(r"^  recognised +1\.0$", output, re.MULTILINE)
    assert re.search(r"^  cv +1 documents, recall 1\.0, precision 1\.0$", output, re.MULTILINE)
    assert "Without --site these are not checked: SITE_MISMATCH" in output
    assert "approval_date: 2026" in output


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
