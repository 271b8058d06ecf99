"""The sample corpus: complete, consistent, and the same each time it is written."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from datetime import date

import pytest

from ingestion.core.states import DocumentState
from samples.corpus import write_corpus
from samples.faults import OUTCOMES, WITHOUT_FAULT, get_expected_outcome
from samples.pages import PAGES
from samples.plan import plan_corpus
from samples.renditions import Rendition

TODAY = date(2026, 11, 20)
BASE_URL = "http://127.0.0.1:8765"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    return write_corpus(folder, base_url=BASE_URL, today=TODAY, sites=2)


def lines_of(manifest):
    return [json.loads(line) for line in manifest.read_text().splitlines()]


def identities(entries):
    return [(entry["site_id"], entry["doc_id"]) for entry in entries]


def test_twelve_sites_have_each_document_type_once():
    sent = Counter((entry.site.site_id, entry.document_type) for entry in plan_corpus(12))

    assert len(sent) == 12 * len(PAGES) == 120
    assert set(sent.values()) == {1}


def test_each_fault_occurs_and_most_documents_have_none():
    faults = [entry.fault for entry in plan_corpus(12) if entry.fault]

    assert 12 <= len(faults) <= 16
    assert set(faults) == set(OUTCOMES)


def test_each_document_type_is_scanned_at_some_site_and_some_forms_are_fillable():
    types_by_rendition = {
        rendition: {
            entry.document_type for entry in plan_corpus(12) if entry.rendition is rendition
        }
        for rendition in Rendition
    }

    assert types_by_rendition[Rendition.SCAN] == set(PAGES)
    assert "form-fda-1572" in types_by_rendition[Rendition.FILLABLE_FORM]


def test_a_full_corpus_has_at_least_36_pages_of_readable_scans():
    two_pages = {"cv", "form-fda-1572"}
    scans = [entry for entry in plan_corpus(12) if entry.rendition is Rendition.SCAN]
    readable = [
        entry for entry in scans if get_expected_outcome(entry.fault).code != "CORRUPT_DOCUMENT"
    ]

    assert sum(1 + (entry.document_type in two_pages) for entry in readable) >= 36


@pytest.mark.parametrize("sites", [0, 13])
def test_the_number_of_sites_is_one_to_twelve(sites):
    with pytest.raises(ValueError, match="1 to 12"):
        plan_corpus(sites)


@pytest.mark.slow
def test_each_line_of_the_manifest_has_a_file_with_the_announced_digest(corpus):
    lines = lines_of(corpus.manifest)
    announced = [line for line in lines if "sha256" in line]

    for line in lines:
        assert file_of(corpus, line).is_file()
        assert line["url"] == f"{BASE_URL}/{line['site_id']}/{line['doc_id']}.pdf"
    for line in announced:
        assert hashlib.sha256(file_of(corpus, line).read_bytes()).hexdigest() == line["sha256"]
    assert len(announced) == -(-len(lines) // 3)


def file_of(corpus, line):
    return corpus.files / line["site_id"] / f"{line['doc_id']}.pdf"


@pytest.mark.slow
def test_each_document_of_a_manifest_is_unique_and_has_an_expectation(corpus):
    for manifest, name in (
        (corpus.manifest, "expected.json"),
        (corpus.manifest_again, "expected-again.json"),
    ):
        named = identities(lines_of(manifest))
        assert named == identities(json.loads((corpus.directory / name).read_text()))
        assert len(named) == len(set(named))


@pytest.mark.slow
def test_only_filed_documents_are_delivered_again(corpus):
    filed = {
        (entry.site_id, entry.doc_id)
        for entry in corpus.expectations
        if entry.state is DocumentState.ARCHIVED
    }

    assert corpus.expectations_again
    assert {(entry.site_id, entry.doc_id) for entry in corpus.expectations_again} <= filed
    assert {entry.code for entry in corpus.expectations_again} == {"DUPLICATE_CONTENT"}


@pytest.mark.slow
def test_the_sites_file_has_the_fields_that_load_sites_needs(corpus):
    sites = json.loads(corpus.sites.read_text())

    assert [entry["site_id"] for entry in sites] == ["1001", "1002"]
    assert {"study", "protocol_version", "site_id", "name", "country", "portal"} == set(sites[0])
    assert sites[0]["portal"]["base_url"] == f"{BASE_URL}/1001/"
    assert sites[0]["portal"]["allow_http"] is True


def test_a_document_without_a_fault_is_expected_to_be_filed_without_a_code():
    assert get_expected_outcome(None) == WITHOUT_FAULT
    assert all(outcome.code for outcome in OUTCOMES.values())


@pytest.mark.slow
def test_the_command_writes_the_same_corpus_byte_for_byte(corpus, tmp_path):
    arguments = [
        str(tmp_path),
        "--base-url",
        f"{BASE_URL}/",
        "--today",
        "2026-11-20",
        "--sites",
        "2",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "samples", *arguments], capture_output=True, check=True
    )

    assert b"20 documents" in run.stdout
    assert contents(tmp_path) == contents(corpus.directory)


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
