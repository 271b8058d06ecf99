"""Tests that a signature states its signer, time and meaning, and covers exactly its facts."""

from dataclasses import replace

import pytest

from audit.electronic_signatures import (
    FILE_NAME,
    SIGNATURE_KEY,
    ElectronicSignature,
    is_signature_intact,
    list_signer_changes,
)
from audit.export.timeline import format_signature_columns
from audit.export.trail import LedgerLine
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record, write_time

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R26")]
RAFAEL = ElectronicSignature(Actor("user:7", "staff"), "Rafael Duarte", "I reviewed this document.")
FACTS = {"note": "Ask the chair to sign.", "judged": [{"code": "SIGNATURE_MISSING", "page": 2}]}
SHA = "ab" * 32


def signed(facts=FACTS, sha256=SHA, by=RAFAEL):
    with ledger():
        record(
            "document.returned",
            subject="document:1",
            n=1,
            by=by.signer,
            sha256=sha256,
            occurred_at=by.at,
            detail=by.sign(facts, sha256=sha256),
        )
    return queries.find_entries(limit=1)[0]


@pytest.mark.requirement("R25")
def test_an_entry_shows_printed_name_time_and_meaning():
    entry = signed()
    assert entry.detail["printed_name"] == "Rafael Duarte"
    assert entry.detail["meaning"] == "I reviewed this document."
    assert entry.occurred_at == RAFAEL.at


def test_a_signature_is_intact_for_unchanged_facts_and_bytes():
    assert list_signer_changes(signed(), FACTS, sha256=SHA) == []


def test_changed_facts_and_bytes_are_named():
    entry = signed()
    assert list_signer_changes(entry, FACTS | {"note": "Never mind."}, sha256=SHA) == ["note"]
    assert list_signer_changes(entry, {"note": FACTS["note"]}, sha256=SHA) == ["judged"]
    assert list_signer_changes(entry, FACTS, sha256="cd" * 32) == [FILE_NAME]


def test_text_is_compared_in_unicode_normal_form():
    composed, decomposed = "Se\u00f1or", "Sen\u0303or"
    entry = signed({"note": decomposed})
    assert list_signer_changes(entry, {"note": composed}, sha256=SHA) == []


@pytest.mark.parametrize(
    "tampered",
    [
        {"note": "Never mind."},
        {"printed_name": "Another Person"},
        {"meaning": "I approve."},
        {SIGNATURE_KEY: {"over": ["note"], "digest": "0" * 64}},
    ],
    ids=["fact", "name", "meaning", "digest"],
)
def test_a_signature_with_a_tampered_detail_is_not_intact(tampered):
    entry = signed()
    other = replace(entry, detail=entry.detail | tampered)
    assert list_signer_changes(other, FACTS | tampered, sha256=SHA) == [SIGNATURE_KEY]


def test_a_signature_cannot_be_moved_to_another_time_or_other_bytes():
    entry = signed()
    assert is_signature_intact(entry.detail, SHA, write_time(entry.occurred_at))
    assert not is_signature_intact(entry.detail, SHA, "2020-01-01T00:00:00.000000Z")
    assert not is_signature_intact(entry.detail, "cd" * 32, write_time(entry.occurred_at))
    assert list_signer_changes(replace(entry, detail=None), FACTS, sha256=SHA) == [SIGNATURE_KEY]


def test_an_export_marks_a_broken_signature_as_invalid():
    detail = '{"meaning":"I approve.","printed_name":"R","signature":{"digest":"0","over":[]}}'
    fields = {"sha256": SHA, "occurred_at": "2026-11-20T14:03:00.000000Z"}
    assert format_signature_columns(LedgerLine("", "", fields, "", detail)) == (
        "R",
        "INVALID: I approve.",
    )
