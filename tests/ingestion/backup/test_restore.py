"""Tests of restorations: of complete backups, and of backups that are damaged or do not fit."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack

import pytest
from django.db import IntegrityError, connection

from audit.ledger import append_only, database_roles, queries
from audit.signing import anchors, checkpoints
from audit.verification.verify import verify_ledger
from ingestion.backup import contents
from ingestion.core.states import DocumentState
from ingestion.models import Document
from ingestion.storage import spool
from ingestion.storage.archive import get_archive
from tests.audit.support import APPLICATION, sql, write
from tests.ingestion.backup.conftest import backups, run
from tests.ingestion.hosts import environment

pytestmark = pytest.mark.requirement("R31")


@pytest.fixture
def kept(target, filed, waiting):
    """Return a backup with documents on file and one that waits."""
    assert run("backup", target) == 0
    return backups(target)[-1]


def database(folder):
    return next((folder / "database").iterdir())


def below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_everything_is_restored_on_another_machine(kept, filed, waiting, elsewhere, capsys):
    with elsewhere():
        assert run("restore", kept.parent) == 0
        assert "Ledger and archive are intact. Start the workers" in capsys.readouterr().out
        assert all(get_archive().has(sha256) for sha256 in filed)
        assert Document.objects.get(pk=waiting.pk).state == DocumentState.RECEIVED
        assert spool.get_path(waiting.spooled).read_bytes() == b"%PDF-1.7"
        assert verify_ledger().intact


@pytest.mark.slow
def test_a_restoration_is_recorded_with_the_head_of_the_ledger(kept, elsewhere):
    manifest = contents.BackupManifest.read(kept)
    with elsewhere():
        run("restore", kept)
        (entry,) = queries.list_entries(f"backup:{kept.name}")
        assert (entry.event, entry.seq) == ("backup.restored", manifest.entries + 1)
        assert entry.prev == manifest.head == entry.detail["head"]
        assert (entry.detail["lost"], entry.detail["findings"]) == (0, [])


def test_the_triggers_of_the_ledger_are_restored(kept, elsewhere):
    with elsewhere():
        run("restore", kept)
        assert append_only.find_missing_triggers(connection) == []
        with pytest.raises(IntegrityError):
            sql("UPDATE audit_entry SET event = 'another'")


@pytest.mark.slow
def test_checkpoints_are_signed_and_anchored_after_the_key_is_restored(kept, elsewhere, settings):
    key = settings.AUDIT_KEY_FILE
    with elsewhere():
        run("restore", kept)
        settings.AUDIT_KEY_FILE = key  # operations kept the key in another place
        write(subject="file:later")
        checkpoints.sign_all()
        assert anchors.anchor_all() == []
        assert verify_ledger().intact


def cut(path):
    os.truncate(path, path.stat().st_size - 10)


def change(path):
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def restate(folder, **columns):
    """Change fields of the manifest."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | columns))


FAULTS = {
    "a cut dump": (lambda kept: cut(database(kept)), "is truncated: it has"),
    "a changed dump": (
        lambda kept: change(database(kept)),
        "was changed: its SHA-256 digest differs",
    ),
    "a missing dump": (lambda kept: database(kept).unlink(), "is missing."),
    "a missing file": (
        lambda kept: next(kept.parent.glob("archive/*/*/*")).unlink(),
        "is missing.",
    ),
    "a changed file": (
        lambda kept: change(next(kept.parent.glob("archive/*/*/*"))),
        "was changed: its SHA-256 digest differs",
    ),
    "a missing upload": (lambda kept: next(kept.glob("spool/*/*")).unlink(), "is missing."),
    "a changed list": (lambda kept: cut(kept / "files.ndjson"), "files.ndjson was changed"),
    "a missing list": (lambda kept: (kept / "files.ndjson").unlink(), "cannot be read"),
    "no manifest": (lambda kept: (kept / "manifest.json").unlink(), "the backup was not finished"),
    "half a manifest": (lambda kept: cut(kept / "manifest.json"), "cannot be read"),
    "another format": (
        lambda kept: restate(kept, format="siteledger-backup/9"),
        "Restore it with the release that made it",
    ),
    "another release": (
        lambda kept: restate(kept, migrations=["audit.0099_of_tomorrow"], software="9.9"),
        "made by another release (9.9)",
    ),
    "another ledger": (
        lambda kept: restate(kept, trail="other"),
        "AUDIT_TRAIL names another one",
    ),
    "another database": (
        lambda kept: restate(kept, database="oracle"),
        "is of oracle, but",
    ),
    "no room": (lambda kept: restate(kept, bytes=10**18), "MB free, but the backup needs"),
}


def test_a_damaged_or_unfit_backup_is_refused_and_nothing_is_written(kept, elsewhere, capsys):
    with elsewhere() as folder:
        for number, (spoil, message) in enumerate(FAULTS.values()):
            spoiled = folder.parent / f"spoiled-{number}"  # with its own pool
            shutil.copytree(kept.parent, spoiled)
            spoil(spoiled / kept.name)
            assert run("restore", spoiled / kept.name) == 2, message
            output = capsys.readouterr().out
            assert output.startswith("Not restored: ")
            assert message in output
        assert connection.introspection.table_names() == []
        assert {path.name.partition("-")[0] for path in below(folder)} <= {"siteledger.sqlite3"}


@pytest.mark.slow
def test_a_damaged_newest_backup_is_not_replaced_by_an_older_one(kept, elsewhere, capsys):
    run("backup", kept.parent)
    (backups(kept.parent)[-1] / "manifest.json").unlink()
    with elsewhere():
        assert run("restore", kept.parent) == 2
    assert "Name another backup." in capsys.readouterr().out


@pytest.mark.slow
def test_a_backup_is_not_restored_over_existing_files(kept, elsewhere, capsys):
    with elsewhere() as folder:
        for name in (f"archive/ab/cd/{'ab' * 32}", "spool/uploads/1"):
            there = folder / name
            there.parent.mkdir(parents=True)
            there.write_bytes(b"of others")
            assert run("restore", kept) == 2
            assert "_DIR=" in capsys.readouterr().out
            assert below(folder / name.partition("/")[0]) == [there]
            there.unlink()


@pytest.mark.slow
def test_a_backup_is_not_restored_into_a_database_with_tables(kept, elsewhere, capsys):
    with elsewhere():
        sql("CREATE TABLE of_others (id integer)")
        assert run("restore", kept) == 2
        assert connection.introspection.table_names() == ["of_others"]
    assert (
        "has tables. A backup can only be restored into an empty database."
        in capsys.readouterr().out
    )


@pytest.mark.slow
def test_a_backup_is_not_restored_into_its_own_installation(kept, capsys):
    assert run("restore", kept) == 2
    assert "has tables" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.requirement("R05")
def test_entries_that_only_the_anchors_cover_are_reported_and_recorded(
    kept, here, elsewhere, settings, capsys
):
    for number in range(7):
        write(number, subject="file:later")
    signed = checkpoints.sign_all()
    anchors.anchor_all()
    survived = settings.ANCHOR_DIR
    lost = signed.size - contents.BackupManifest.read(kept).entries
    with elsewhere():
        settings.ANCHOR_DIR = survived
        assert run("restore", kept) == 1
        out = capsys.readouterr().out
        assert f"THE ANCHORS COVER {lost:,} ENTRIES THAT THIS BACKUP DOES NOT HAVE" in out
        assert "It was not replaced, because it may contain newer checkpoints." in out
        (entry,) = queries.list_entries(f"backup:{kept.name}")
        assert entry.detail["lost"] == lost
        assert not verify_ledger().intact
        # As docs/operations.md says, the old anchors are kept apart as evidence.
        settings.ANCHOR_DIR = here.parent / "new-anchors"
        for item in (kept / "anchors").iterdir():
            settings.ANCHOR_DIR.mkdir(exist_ok=True)
            (settings.ANCHOR_DIR / item.name).write_bytes(item.read_bytes())
        assert verify_ledger().intact


@pytest.mark.slow
def test_anchors_that_cannot_be_read_are_a_finding(kept, elsewhere, settings, capsys):
    with elsewhere():
        (settings.ANCHOR_DIR / "checkpoints.log").mkdir(parents=True)
        assert run("restore", kept) == 1
    assert (
        "It is not known whether the backup has all entries that were signed."
        in capsys.readouterr().out
    )


@pytest.mark.slow
def test_files_that_were_missing_in_the_backup_are_reported(target, filed, elsewhere, capsys):
    get_archive().path_of(filed[0]).unlink()
    run("backup", target)
    with elsewhere():
        assert run("restore", target) == 1
        out = capsys.readouterr().out
        assert "1 files were missing when the backup was created" in out
        assert "1 files of the archive are missing." in out
        assert queries.list_entries(f"file:{filed[0]}")


@pytest.mark.slow
def test_a_backup_can_be_verified_without_a_restoration(kept, capsys):
    assert run("restore", kept, "--verify-only") == 0
    assert "files are unchanged since the backup was made" in capsys.readouterr().out
    cut(database(kept))
    assert run("restore", kept, "--verify-only") == 2


def test_a_folder_without_a_backup_is_reported(tmp_path, capsys):
    assert run("restore", tmp_path / "nowhere") == 2
    assert "contains no finished backup" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.only_on("postgresql", reason="SQLite needs no other program")
def test_without_pg_restore_nothing_is_written(kept, elsewhere, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    with elsewhere() as folder:
        assert run("restore", kept) == 2
        assert below(folder) == []
    assert "pg_restore is not installed" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.only_on("postgresql", reason="SQLite's file is renamed")
def test_a_failed_load_leaves_the_database_empty(kept, elsewhere, capsys):
    with elsewhere():
        sql("CREATE VIEW django_session AS SELECT 1")
        assert run("restore", kept) == 2
        assert connection.introspection.table_names() == []
    assert "pg_restore failed" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.only_on("postgresql", reason="SQLite has no roles")
def test_the_rights_of_two_roles_are_restored(kept, elsewhere, settings):
    with ExitStack() as stack:
        stack.enter_context(elsewhere())
        owner = dict(connection.settings_dict)
        sql(f"CREATE ROLE {APPLICATION} LOGIN PASSWORD 'only for tests'")
        stack.callback(lambda: sql(f"DROP OWNED BY {APPLICATION}; DROP ROLE {APPLICATION}"))
        settings.DATABASE_OWNER = owner
        connection.close()
        connection.settings_dict.update({"USER": APPLICATION, "PASSWORD": "only for tests"})
        stack.callback(lambda: (connection.close(), connection.settings_dict.update(owner)))
        assert run("restore", kept) == 0
        assert sql("SELECT current_user") == [(APPLICATION,)]
        assert database_roles.find_excess_rights(connection) == []
        write(subject="file:later")


@pytest.mark.slow
def test_the_command_works_in_a_shell_and_records_its_user(kept, elsewhere, settings):
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "restore", str(kept)]
    with elsewhere():
        connection.close()
        subprocess.run(command, env=environment(settings), check=True, capture_output=True)
        (entry,) = queries.list_entries(f"backup:{kept.name}")
        assert entry.actor.startswith("system:restore@")
        assert entry.detail["os_user"]
