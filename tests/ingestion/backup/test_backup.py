"""Tests of backups that are created while others work: their contents, and missing files."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from audit import background_jobs, job_runs
from audit.files import durable
from audit.job_runs import JobCancelled
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.signing import anchors, checkpoints
from ingestion.backup import contents, creation
from ingestion.backup import job as backup_job
from ingestion.backup.contents import BackupError, BackupFile, BackupFileKind
from ingestion.core.states import DocumentState
from ingestion.dispatch import leases
from ingestion.intake import drafts, open_packets, upload_sessions
from ingestion.intake.open_packets import DeclaredFile
from ingestion.storage import spool
from ingestion.storage.archive import get_archive
from tests import steps
from tests.audit.support import sql, triggers_removed, write
from tests.factories import verdict
from tests.ingestion.backup.conftest import backups, run
from tests.ingestion.hosts import environment, eventually
from tests.ingestion.storage.conftest import store_file

pytestmark = pytest.mark.requirement("R31")


def made(target):
    folder = backups(target)[-1]
    return folder, contents.BackupManifest.read(folder)


def listed(target, kind):
    folder, _ = made(target)
    return {item.name: item for item in contents.read_file_list(folder) if item.kind is kind}


def test_a_backup_contains_all_received_files(target, filed, waiting, capsys):
    assert run("backup", target) == 0
    folder, manifest = made(target)
    assert set(listed(target, BackupFileKind.ARCHIVE)) == set(filed)
    assert set(listed(target, BackupFileKind.SPOOL)) == {waiting.spooled}
    assert set(listed(target, BackupFileKind.ANCHORS)) == {"checkpoints.log", "vkeys.txt"}
    assert len(listed(target, BackupFileKind.DATABASE)) == 1
    assert manifest.missing_count == 0
    assert "Not in the backup, store them elsewhere: the signing key" in capsys.readouterr().out
    contents.verify_files(folder, manifest)


def test_a_backup_is_recorded_with_the_digest_of_its_manifest(target, filed):
    run("backup", target)
    folder, manifest = made(target)
    (entry,) = queries.list_entries(f"backup:{folder.name}")
    assert (entry.event, entry.role) == ("backup.made", "operations")
    assert entry.actor.startswith("system:backup@")
    assert entry.sha256 == durable.hash_file(folder / "manifest.json").sha256
    assert entry.detail["head"] == manifest.head
    assert queries.get_last_entry()[0] == manifest.entries + 1


@pytest.mark.slow
def test_other_users_cannot_read_a_backup(target, filed):
    run("backup", target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_backup_is_of_one_moment_while_others_write(target, filed, during_snapshot, elsewhere):
    before = queries.get_last_entry()
    during_snapshot(lambda: write(subject="file:later"))
    assert run("backup", target) == 0
    assert queries.list_entries("file:later")
    _, manifest = made(target)
    assert (manifest.entries, manifest.head) == before
    with elsewhere():
        assert run("restore", target) == 0
        assert queries.list_entries("file:later") == []


def archive_it(document, folder):
    """File an upload as a worker does: its file leaves the spool."""
    (lease,) = leases.claim_due_chunks(8, by="here:1:1", urgent=True)
    sha256 = store_file(folder, b"%PDF-1.7")
    steps.start_checking(document.pk, lease.lease_id, sha256=sha256, size=8)
    steps.conclude(document.pk, lease.lease_id, verdict(), pages=1)
    spool.drop_upload(document.spooled)


@pytest.mark.slow
def test_an_upload_that_is_archived_meanwhile_is_waiting_in_the_backup(
    target, waiting, tmp_path, during_snapshot, elsewhere
):
    during_snapshot(lambda: archive_it(waiting, tmp_path))
    assert run("backup", target) == 0
    assert not spool.get_path(waiting.spooled).exists()
    (upload,) = listed(target, BackupFileKind.SPOOL).values()
    assert (upload.name, upload.sha256) == (waiting.spooled, waiting.expected_sha256)
    with elsewhere():
        assert run("restore", target) == 0
        waiting.refresh_from_db()
        assert waiting.state == DocumentState.RECEIVED
        assert spool.get_path(waiting.spooled).read_bytes() == b"%PDF-1.7"


@pytest.mark.slow
def test_a_checkpoint_that_is_signed_meanwhile_is_not_in_the_backup(
    target, filed, during_snapshot, here, elsewhere
):
    def sign():
        write(subject="file:later")
        checkpoints.sign_all()
        assert anchors.anchor_all() == []

    during_snapshot(sign)
    run("backup", target)
    folder, _ = made(target)
    kept = (folder / "anchors" / "checkpoints.log").read_text()
    assert (here / "anchors" / "checkpoints.log").read_text().startswith(kept)
    assert kept != (here / "anchors" / "checkpoints.log").read_text()
    with elsewhere():
        assert run("restore", target) == 0


@pytest.mark.slow
def test_a_backup_contains_files_of_drafts(target, waiting):
    draft = drafts.begin_draft(waiting.batch.submitted_by, "form")
    file, _ = drafts.add_file(draft, "cv.pdf", ContentFile(b"%PDF draft", "cv.pdf"))
    run("backup", target)
    assert set(listed(target, BackupFileKind.SPOOL)) == {waiting.spooled, file.spooled}


@pytest.mark.slow
def test_a_broken_ledger_is_copied_and_reported_when_restore_file(target, filed, elsewhere, capsys):
    (body,) = sql("SELECT body FROM audit_entry WHERE seq = 2")[0]
    with triggers_removed():
        sql("UPDATE audit_entry SET body = %s WHERE seq = 2", body.replace("ops", "qa"))
    assert run("backup", target) == 0
    with triggers_removed():
        sql("UPDATE audit_entry SET body = %s WHERE seq = 2", body)
    with elsewhere():
        assert run("restore", target) == 1
    assert "The ledger is not intact: Entry 2:" in capsys.readouterr().out


def test_a_backup_contains_the_files_of_open_packets(target, site):
    content = b"%PDF to come in parts"
    sha256 = hashlib.sha256(content).hexdigest()
    files = [
        DeclaredFile("IRB.pdf", "irb-approval", "", sha256, len(content)),
        DeclaredFile("1572.pdf", "form-fda-1572", "", sha256, len(content)),
    ]
    packet = open_packets.open_packet(owner="site:1", key="k", site=site, priority=5, files=files)
    whole = upload_sessions.append_part(open_packets.begin_upload(packet, 0), 0, [content])
    begun = upload_sessions.append_part(open_packets.begin_upload(packet, 1), 0, [content[:4]])
    run("backup", target)
    assert set(listed(target, BackupFileKind.SPOOL)) == {whole.spooled, begun.parts.get().spooled}


@pytest.mark.slow
def test_the_next_backup_copies_only_new_archived_files(target, filed, tmp_path, capsys):
    run("backup", target)
    pool = {path: path.stat().st_ino for path in target.glob("archive/*/*/*")}
    new = store_file(tmp_path, b"%PDF new")
    capsys.readouterr()
    run("backup", target)
    assert "(1 new in the archive)" in capsys.readouterr().out
    assert {path: path.stat().st_ino for path in pool} == pool
    assert set(listed(target, BackupFileKind.ARCHIVE)) == {*filed, new}
    assert len(backups(target)) == 2


@pytest.mark.slow
def test_a_file_that_the_archive_lost_later_stays_in_the_backup(target, filed):
    run("backup", target)
    get_archive().path_of(filed[0]).unlink()
    assert run("backup", target) == 0
    assert filed[0] in listed(target, BackupFileKind.ARCHIVE)


def test_missing_and_changed_files_are_named_and_the_others_are_copied(target, filed, capsys):
    get_archive().path_of(filed[0]).unlink()
    changed = get_archive().path_of(filed[1])
    changed.chmod(0o644)
    changed.write_bytes(b"other")
    assert run("backup", target) == 1
    assert set(listed(target, BackupFileKind.ARCHIVE)) == {filed[2]}
    _, manifest = made(target)
    assert set(manifest.missing) == {f"archive/{sha256}" for sha256 in filed[:2]}
    assert filed[0] in capsys.readouterr().err


def test_a_missing_upload_is_named(target, waiting):
    spool.drop_upload(waiting.spooled)
    assert run("backup", target) == 1
    _, manifest = made(target)
    assert list(manifest.missing) == [f"spool/{waiting.spooled}"]


def test_nothing_is_copied_without_enough_disk_space(target, filed, monkeypatch, capsys):
    monkeypatch.setattr(creation, "MIN_FREE_BYTES_AFTER", 10**18)
    assert run("backup", target) == 2
    assert "Free some space, or name another disk. Nothing was copied." in capsys.readouterr().out
    assert [path.name for path in target.iterdir()] == [".lock"]


def test_a_database_with_unapplied_migrations_is_refused(target, capsys):
    rename = "UPDATE django_migrations SET name = %s WHERE app = 'sessions' AND name = %s"
    sql(rename, "0000_of_another_release", "0001_initial")
    try:
        assert run("backup", target) == 2
    finally:
        sql(rename, "0001_initial", "0000_of_another_release")
    assert "the migration sessions.0001_initial has not been applied" in capsys.readouterr().out


def test_two_backups_at_once_in_one_folder_are_refused(target, capsys):
    target.mkdir()
    with contents.lock_target(target):
        assert run("backup", target) == 2
    assert f"Another backup is being created in {target}." in capsys.readouterr().out


def test_a_killed_backup_leaves_no_finished_backup(target, filed, settings):
    stuck = get_archive().path_of("ff" * 32)  # reading it never ends
    stuck.parent.mkdir(parents=True)
    os.mkfifo(stuck)
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "backup", str(target)]
    process = subprocess.Popen(command, env=environment(settings))
    eventually(lambda: len(list(target.glob("archive/*/*/*"))) == 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(BackupError, match="contains no finished backup"):
        contents.find_backup(target)
    stuck.unlink()
    assert run("backup", target) == 0
    assert list(target.glob(".unfinished-*")) == []


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a/../../b", ".lock", "a\nb", "a/"]
)
def test_a_file_name_that_leads_out_of_the_folder_is_refused(name):
    line = json.dumps({"kind": "spool", "name": name, "sha256": "0" * 64, "size": 1})
    with pytest.raises(ValueError, match="not a name"):
        BackupFile.parse(line)


postgresql_only = pytest.mark.only_on("postgresql", reason="SQLite needs no other program")


VERSION = '[ "$1" = --version ] && exec /usr/bin/pg_dump --version'


@pytest.fixture
def pg_dump(tmp_path, monkeypatch):
    """Return a function that installs a program of that name before all others."""

    def pg_dump(script):
        program = tmp_path / "bin" / "pg_dump"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)

    return pg_dump


@postgresql_only
def test_an_older_pg_dump_is_refused_with_what_to_install(target, pg_dump, capsys):
    pg_dump("echo 'pg_dump (PostgreSQL) 9.6'")
    assert run("backup", target) == 2
    major = connection.pg_version // 10_000
    assert f"sudo apt-get install postgresql-client-{major}" in capsys.readouterr().out


@postgresql_only
def test_a_missing_pg_dump_is_reported(target, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run("backup", target) == 2
    assert "pg_dump is not installed" in capsys.readouterr().out


@postgresql_only
def test_the_password_is_not_on_the_command_line(target, pg_dump, tmp_path, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "PASSWORD", "only for tests")
    seen = tmp_path / "seen"
    pg_dump(
        f"""{VERSION}
        echo "$*" > {seen}; echo "$PGPASSWORD" >> {seen}
        exec /usr/bin/pg_dump "$@\""""
    )
    assert run("backup", target) == 0
    arguments, password = seen.read_text().splitlines()
    assert "only for tests" not in arguments
    assert password == "only for tests"


@postgresql_only
def test_errors_of_pg_dump_are_reported(target, pg_dump, capsys):
    pg_dump(f'{VERSION}\necho "disk on fire" >&2; exit 1')
    assert run("backup", target) == 2
    assert "pg_dump failed: disk on fire" in capsys.readouterr().out
    assert backups(target) == []


def test_a_backup_is_created_as_a_job(target, filed, settings):
    settings.BACKUP_DIR = target
    job = background_jobs.request_job(backup_job.KIND, {}, Actor("user:7", "operations"))
    assert job_runs.run_next_job()
    job.refresh_from_db()
    assert (job.state, job.error, job.done) == ("done", "", 256)
    folder, _ = made(target)
    assert (job.result["folder"], job.result["missing"]) == (folder.name, 0)
    (entry,) = queries.list_entries(f"backup:{folder.name}")
    assert (entry.actor, entry.sha256) == ("user:7", job.result["sha256"])


def test_a_cancelled_backup_leaves_nothing_behind(target, filed, settings):
    settings.BACKUP_DIR = target

    def stop(_done, _total):
        raise JobCancelled

    with pytest.raises(JobCancelled):
        creation.create_backup(target, by=Actor("user:7"), progress=stop)
    assert [path.name for path in target.iterdir() if path.is_dir()] == []
    settings.BACKUP_DIR = None
    assert not backup_job.can_back_up_here()
