"""Tests of the copies of an export for people and for other systems: CSV, PDF and FHIR."""

import base64
import csv
import json

import pypdf
import pytest
from fhir.resources.R4B.auditevent import AuditEvent
from fhir.resources.R4B.provenance import Provenance

from audit.ledger import chain
from audit.ledger.actors import Actor, add_process
from audit.ledger.log import ledger, record
from tests.audit.export.support import make_export, sign, write_documents
from tests.audit.support import sql, triggers_removed, write


def rows_of(package):
    with (package / "timeline.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def pages_of(package):
    return [page.extract_text() for page in pypdf.PdfReader(package / "report.pdf").pages]


def text_of(package):
    """Return the text of the report without white space, because narrow cells break lines."""
    return "".join("".join(pages_of(package)).split())


@pytest.mark.requirement("R11")
def test_the_chain_can_be_verified_from_timeline_csv(package):
    prev = chain.GENESIS
    for seq, row in enumerate(rows_of(package), start=1):
        assert (row["seq"], row["prev"]) == (str(seq), prev)
        prev = chain.compute_digest(row["line"])
        assert row["hash"] == prev
    assert prev == json.loads((package / "manifest.json").read_text())["head"]


def test_the_report_states_only_what_the_export_checked(package):
    assert "confirmedonlybythisinstallationitself:noanchorisreadback" in text_of(package)


@pytest.mark.requirement("R10")
def test_the_headers_of_times_in_the_table_name_utc(package):
    row = rows_of(package)[0]
    assert row["recorded_at (UTC)"] == json.loads(row["line"])["recorded_at"]
    assert "occurred_at (UTC)" in row


@pytest.mark.parametrize("first", "=+-@'")
def test_formulas_are_escaped_and_can_be_restored(db, anchors, tmp_path, first):
    write(doc_id=f'{first}HYPERLINK("http://x.example")')
    sign()
    row = rows_of(make_export(tmp_path / "export"))[0]
    assert row["doc_id"][0] == "'"
    assert row["doc_id"][1:] == json.loads(row["line"])["doc_id"]


def test_other_cells_are_not_escaped(package):
    row = rows_of(package)[0]
    assert (row["doc_id"], row["site"], row["sha256"]) == ("CV-1", "DE-014", f"{1:064x}")
    assert json.loads(row["detail"]) == {"note": "Zoë's no. 0 of 1"}


SIGNED = {"printed_name": "Dr Ana Gómez", "meaning": "approval"}


@pytest.fixture
def signed(db, anchors, tmp_path):
    """Export a document that a person changed and signed, and a document without changes."""
    write_documents(1, 2)
    with ledger():
        record_by_a_person("document.changed", 3, {"changes": {"person": {"old": "A", "new": "B"}}})
        record_by_a_person("document.signed", 4, SIGNED)
    sign()
    return make_export(tmp_path / "export")


def record_by_a_person(event, n, detail):
    record(event, subject="document:1", n=n, by=Actor("user:7", "QA"), site="DE-014",
           doc_id="CV-1", detail=detail)  # fmt: skip


@pytest.mark.requirement("R25")
def test_every_copy_shows_name_time_and_meaning_of_a_signature(signed):
    row = rows_of(signed)[-1]
    assert (row["printed_name"], row["meaning"]) == ("Dr Ana Gómez", "approval")
    printed = text_of(signed)
    section = printed[printed.index("Signatures") : printed.index("Timeline")]
    signed_at = row["occurred_at (UTC)"]
    for part in ("DrAnaGómez", "approval", signed_at[:10] + signed_at[11:19], "Signed(UTC)"):
        assert part in section


@pytest.mark.requirement("R12")
def test_the_report_marks_changes_since_the_first_entry(signed):
    printed = text_of(signed)
    documents = printed[printed.index("Documents") : printed.index("Signatures")]
    assert "CHANGEDbyentry7" in documents
    assert "notchanged" in documents
    timeline = printed[printed.rindex("Timeline") :]
    assert timeline.count("CHANGED") == 1
    assert "person:A>B" in timeline


@pytest.mark.requirement("R12")
def test_a_new_version_of_a_document_is_marked_as_a_change(db, anchors, tmp_path):
    write_documents(1)
    for n in range(2):
        write(n, subject="document:9", site="DE-014", doc_id="CV-1", sha256="f" * 64)
    write(3, site="DE-014", doc_id="CV-1", sha256=f"{1:064x}")
    sign()
    printed = text_of(make_export(tmp_path / "export"))
    documents = printed[printed.index("Documents") : printed.rindex("Timeline")]
    assert documents.endswith("CHANGEDbyentry4"), "the entry of its receipt, and no later entry"


@pytest.mark.requirement("R03")
def test_the_report_shows_the_reason_of_a_person(db, anchors, tmp_path):
    write_documents(1)
    with ledger():
        record_by_a_person("document.signed", 3, SIGNED | {"reason": "It was agreed with the PI."})
    sign()
    assert "ItwasagreedwiththePI." in text_of(make_export(tmp_path / "export"))


@pytest.mark.requirement("R10")
@pytest.mark.requirement("R11")
def test_the_first_page_of_the_report_names_trail_and_checkpoint(package):
    first = "".join(pages_of(package)[0].split())
    manifest = json.loads((package / "manifest.json").read_text())
    for fact in (manifest["head"], manifest["root"], manifest["files"]["verify_trail.py"]):
        assert fact in first
    assert "signedbysiteledger.example/trail+2d5274e8" in first
    assert "UTCthroughout" in first
    assert "none:thewholetrail" in first


def test_every_page_has_a_page_number_and_the_table_header(db, anchors, tmp_path):
    write_documents(*range(20))
    sign()
    pages = pages_of(make_export(tmp_path / "export"))
    assert len(pages) > 2
    for number, page in enumerate(pages, start=1):
        assert f"Page {number} of {len(pages)}" in page
    assert all("Recorded (UTC)" in page for page in pages[3:])


def test_a_report_with_too_many_entries_names_the_files_that_have_them(
    trail, tmp_path, monkeypatch
):
    monkeypatch.setattr("audit.export.report.MAX_PRINTED_ENTRIES", 11)
    printed = text_of(make_export(tmp_path / "export"))
    assert "Toomanyentriestoprint:12." in printed
    assert "timeline.csv" in printed
    assert "RECEIVED>VALIDATING" not in printed


def test_missing_glyphs_are_named_and_markup_is_printed_as_text(db, anchors, tmp_path):
    write(doc_id="<b>履歴書</b> & Zoë")
    sign()
    assert "<b>[U+5C65][U+6B74][U+66F8]</b>&Zoë" in text_of(make_export(tmp_path / "export"))


@pytest.mark.requirement("R38")
def test_the_report_names_redacted_details(trail, tmp_path):
    write(subject="entry:5", event="ledger.detail_redacted", detail={"reason": "a name"})
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 5")
    sign()
    printed = text_of(make_export(tmp_path / "export"))
    assert printed.count("(itsdetailwasredacted)") == 1


@pytest.mark.requirement("R11")
def test_a_fhir_library_accepts_every_audit_event(signed):
    lines = (signed / "fhir" / "AuditEvent.ndjson").read_text().splitlines()
    entries = (signed / "entries.ndjson").read_text().splitlines()
    assert len(lines) == len(entries) == 8
    for line, entry in zip(lines, entries, strict=True):
        event = AuditEvent.model_validate_json(line)
        assert event.id == chain.compute_digest(entry)
        encoded_line = json.loads(line)["entity"][1]["detail"][-1]["valueBase64Binary"]
        assert base64.b64decode(encoded_line).decode() == entry
    filed = json.loads(lines[2])
    assert (filed["action"], filed["type"]["code"]) == ("U", "archive")
    assert filed["agent"][0]["requestor"] is False
    assert filed["agent"][0]["who"]["identifier"]["value"] == add_process("system:worker-03")
    assert json.loads(lines[-1])["agent"][0]["requestor"] is True


@pytest.mark.requirement("R11")
def test_only_filed_documents_have_a_provenance(package):
    lines = (package / "fhir" / "Provenance.ndjson").read_text().splitlines()
    assert len(lines) == 4
    for line in lines:
        found = Provenance.model_validate_json(line)
        assert found.target[0].identifier.value.startswith(("DE-014/CV-", "FR-002/CV-"))


def test_a_rejection_is_an_audit_event_with_a_failed_outcome(db, anchors, tmp_path):
    write(code="EXPIRED_DOCUMENT", doc_id="CV-1", to_state="REJECTED")
    sign()
    lines = (make_export(tmp_path / "export") / "fhir" / "AuditEvent.ndjson").read_text()
    event = json.loads(lines)
    AuditEvent.model_validate(event)
    assert (event["outcome"], event["outcomeDesc"]) == ("4", "EXPIRED_DOCUMENT")
