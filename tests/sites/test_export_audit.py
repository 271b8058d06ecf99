"""Tests of the command `export_audit`: its options and its error messages."""

import json

import pytest
from django.core.management import CommandError, call_command

from audit.ledger import queries
from tests.audit.export.support import KEY, inspect, publish, sign, write_documents
from tests.audit.support import sql, triggers_removed
from tests.factories import make_site


@pytest.fixture
def trail(db, settings, tmp_path):
    publish(settings, tmp_path / "anchors")
    make_site("DE-014")
    make_site("FR-002")
    write_documents(1)
    write_documents(2, site="FR-002")
    write_documents(3, site="US-900")
    sign()


def exported_documents(folder):
    lines = (folder / "entries.ndjson").read_text().splitlines()
    return sorted({json.loads(line)["doc_id"] for line in lines})


@pytest.mark.sampled(3)
@pytest.mark.requirement("R11")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["CV-1", "CV-2", "CV-3"]),
        (["--study", "SLX-301"], ["CV-1", "CV-2"]),
        (["--study", "SLX-301", "--site", "FR-002"], ["CV-2"]),
        (["--site", "US-900"], ["CV-3"]),
        (["--document", "CV-2"], ["CV-2"]),
        (["--document", "FR-002/CV-2"], ["CV-2"]),
        (["--document", "CV-2", "--site", "FR-002"], ["CV-2"]),
        (["--packet", "packet-3"], ["CV-3"]),
        (["--since", "2020-01-01", "--until", "2099-12-31T12:00Z"], ["CV-1", "CV-2", "CV-3"]),
    ],
)
def test_each_option_selects_its_documents(trail, tmp_path, capsys, options, expected):
    call_command("export_audit", str(tmp_path / "export"), *options)
    assert exported_documents(tmp_path / "export") == expected
    code, output = inspect(tmp_path / "export", "--vkey", KEY.verifier.text)
    assert code == (4 if options else 3)
    assert output.startswith("PART: " if options else "COMPLETE: ")
    assert queries.find_entries(limit=1)[0].sha256 in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--study", "SLX-999"], "there is no site of a study SLX-999"),
        (["--study", "SLX-301", "--site", "US-900"], "there is no site US-900 of a study SLX-301"),
        (
            ["--site", "XX"],
            "matches the selection. Change the filters: sites: XX. Nothing was exported",
        ),
        (["--until", "2020-01-01"], "No entry matches"),
        (["--size", "4"], "there is no checkpoint of 4 entries"),
        (["--since", "yesterday"], "not a day or a time: 'yesterday'"),
        (["--since", "2026-02-31"], "not a day or a time"),
    ],
)
def test_an_impossible_selection_is_refused_with_the_reason(trail, tmp_path, options, message):
    with pytest.raises(CommandError) as refused:
        call_command("export_audit", str(tmp_path / "export"), *options)
    assert message in str(refused.value)
    assert not (tmp_path / "export").exists()


def test_a_broken_ledger_is_not_exported_and_the_entry_is_named(trail, tmp_path):
    with triggers_removed():
        sql("UPDATE audit_entry SET body = REPLACE(body, 'CV-1', 'CV-7') WHERE seq = 2")
    with pytest.raises(CommandError, match=r"does not hold: entry 2: .* Nothing was exported"):
        call_command("export_audit", str(tmp_path / "export"))


@pytest.mark.requirement("R11")
def test_an_export_signs_new_entries_first_and_contains_them(trail, tmp_path, capsys):
    write_documents(4, packet="the-last")
    call_command("export_audit", str(tmp_path / "export"), "--packet", "the-last")
    assert exported_documents(tmp_path / "export") == ["CV-4"]
    assert "3 entries, up to the checkpoint of 12" in capsys.readouterr().out


def test_an_export_signs_a_ledger_without_a_checkpoint(db, settings, tmp_path):
    publish(settings, tmp_path / "anchors")
    write_documents(1)
    call_command("export_audit", str(tmp_path / "export"))
    assert exported_documents(tmp_path / "export") == ["CV-1"]


def test_an_export_without_a_signing_key_names_the_command_that_creates_one(
    trail, settings, tmp_path
):
    settings.ANCHOR_DIR = tmp_path / "none"
    with pytest.raises(CommandError, match=r"There is no key yet: .*`manage.py audit_keys create`"):
        call_command("export_audit", str(tmp_path / "export"))


def test_a_broken_entry_after_the_last_checkpoint_is_named_and_nothing_is_exported(trail, tmp_path):
    write_documents(4)
    with triggers_removed():
        sql("UPDATE audit_entry SET body = REPLACE(body, 'CV-4', 'CV-7') WHERE seq = 11")
    with pytest.raises(CommandError, match=r"does not hold: entry 11: .* Nothing was exported"):
        call_command("export_audit", str(tmp_path / "export"))


def test_an_export_into_a_path_that_cannot_be_written_is_refused(trail, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="could not be written"):
        call_command("export_audit", str(tmp_path / "file" / "export"))
