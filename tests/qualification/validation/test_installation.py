"""Does the script of the installation see what is wrong with one, and change nothing?"""

import base64
import dataclasses
import hashlib

import pytest
from django.core import checks
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from audit.ledger import append_only, queries
from audit.signing import anchors, key_rotation, keys
from audit.signing.checkpoints import sign_all
from qualification.validation import (
    installation,
    packages,
    steps,
    values,
)
from qualification.validation.steps import (
    NeedsJudgement,
    ScriptStep,
    StepFailed,
    StepOutcome,
)

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R39")]


def quiet(_taken):
    pass


def look(done):
    [step] = [each for each in installation.SCRIPT.steps() if each.done.startswith(done)]
    [taken] = steps.run_steps([step], quiet)
    return taken


def test_every_step_has_an_observation_and_nothing_is_entered():
    before = queries.last_entry()
    taken = list(steps.run_steps(installation.SCRIPT.steps(), quiet))
    assert [each.id for each in taken] == [f"IQ-{n:02}" for n in range(1, 17)]
    assert all(each.observed for each in taken)
    assert not [each for each in taken if "broke" in each.observed]
    assert queries.last_entry() == before


def test_a_guard_that_somebody_dropped_is_named():
    assert look("Compare the ledger's guards").result is StepOutcome.PASS
    name, table = next(iter(append_only.trigger_tables(connection.vendor).items()))
    on = "" if connection.vendor == "sqlite" else f" ON {table}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}{on}")
    taken = look("Compare the ledger's guards")
    append_only.install_triggers(connection)
    assert (taken.result, name in taken.observed) == (StepOutcome.FAIL, True)


def test_a_language_that_is_not_installed_is_named(settings):

    settings.READING_LIMITS = dataclasses.replace(settings.READING_LIMITS, languages="eng+tlh")
    taken = look("Ask tesseract")
    assert taken.result is StepOutcome.FAIL
    assert taken.observed.endswith("not installed: tlh")


def test_an_installation_to_try_things_out_is_not_passed(settings):
    settings.DEBUG, settings.HTTPS_ONLY = False, True
    assert look("Look how it is run").result is StepOutcome.PASS
    settings.DEBUG = True
    assert look("Look how it is run").result is StepOutcome.FAIL


def test_code_that_is_no_release_is_noted(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(installation.identity, "commit_id", lambda _: "0abc-dirty")
    taken = look("Name the software")
    assert (taken.result, "files changed since" in taken.observed) == (StepOutcome.NOTE, True)
    monkeypatch.undo()
    settings.BASE_DIR = tmp_path
    assert "this is no checkout" in look("Name the software").observed


def test_a_python_that_is_too_old_is_told(monkeypatch):
    monkeypatch.setattr(installation, "PYTHON", (99, 0))
    assert look("Ask for Python's version").result is StepOutcome.FAIL


def test_without_tesseract_no_scan_can_be_read_and_that_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert look("Ask tesseract").observed == "tesseract is not installed: scans cannot be read"


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ({"synchronous": "2", "journal_mode": "wal", "fsync": "on"}, StepOutcome.PASS),
        ({"synchronous": "1", "journal_mode": "wal", "fsync": "off"}, StepOutcome.FAIL),
    ],
)
def test_a_database_that_loses_what_it_confirmed_is_told(monkeypatch, answers, result):
    monkeypatch.setattr(installation, "_asked", lambda sql: answers.get(sql.split()[-1], "on"))
    assert look("Ask the database").result is result


def test_a_migration_that_waits_is_named():
    assert look("Compare the database's schema").result is StepOutcome.PASS
    recorder = MigrationRecorder(connection)
    last = recorder.migration_qs.filter(app="ingestion").order_by("name").last()
    recorder.record_unapplied("ingestion", last.name)
    taken = look("Compare the database's schema")
    assert (taken.result, f"ingestion.{last.name} waits" in taken.observed) == (
        StepOutcome.FAIL,
        True,
    )


@pytest.mark.parametrize(
    ("found", "result"),
    [
        ([], StepOutcome.PASS),
        ([checks.Warning("Look.", id="here.W001")], StepOutcome.NOTE),
        ([checks.Warning("Look."), checks.Error("No.", id="here.E001")], StepOutcome.FAIL),
    ],
)
def test_errors_of_the_checks_fail_and_warnings_are_for_a_person(monkeypatch, found, result):
    monkeypatch.setattr(installation.checks, "run_checks", lambda **_: found)
    assert look("Run all system checks").result is result


@pytest.fixture
def signed(settings, tmp_path):
    """The ledger has a key and a checkpoint, held in a folder."""
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    key_rotation.create_key(by="system:tests")
    sign_all()
    anchors.anchor_all()


@pytest.mark.usefixtures("signed")
def test_keys_and_where_the_newest_checkpoint_is_held_are_told():
    assert "-rw-------" in look("Look for the ledger's keys").observed
    taken = look("Ask where the newest checkpoint is held")
    assert (taken.result, "no anchor is independent" in taken.observed) == (StepOutcome.NOTE, True)
    keys.private_file().unlink()
    assert "signs nothing" in look("Look for the ledger's keys").observed


def test_clocks_that_differ_are_told(settings, monkeypatch):
    settings.NTP_SERVER = "ntp.example.org"
    assert look("Look for clocks").result is StepOutcome.PASS
    monkeypatch.setattr(installation.clock, "excessive_skews", lambda: ["host one is 90 s ahead"])
    assert look("Look for clocks").observed == "host one is 90 s ahead"


def test_a_full_disk_and_a_folder_that_is_everybodys_are_told(settings, tmp_path, monkeypatch):
    for name in installation.FOLDERS:
        setattr(settings, name, tmp_path / name)
    assert look("Look whose the folders are").observed.count("not made yet") == 4
    settings.ARCHIVE_DIR.mkdir()
    settings.ARCHIVE_DIR.chmod(0o777)
    taken = look("Look whose the folders are")
    assert (taken.result, "everybody may write: ARCHIVE_DIR" in taken.observed) == (
        StepOutcome.FAIL,
        True,
    )
    monkeypatch.setattr(
        installation.disk_space, "describe_low_space", lambda: "ARCHIVE_DIR has 3 MB left"
    )
    assert look("Look for room").observed == "ARCHIVE_DIR has 3 MB left"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package of one file."""
    info = tmp_path / "paper-1.2.dist-info"
    info.mkdir()
    (tmp_path / "paper.py").write_text("SIZE = 'A4'\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: paper\nVersion: 1.2\n")
    digest = hashlib.sha256((tmp_path / "paper.py").read_bytes()).digest()
    sum_ = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"paper.py,sha256={sum_},12\npaper-1.2.dist-info/RECORD,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "paper.py"


def test_a_package_whose_file_was_changed_or_removed_is_named(package):
    pins = {"paper": {"1.2": False}}
    assert packages.altered_files(pins) == (1, [])
    package.write_text("SIZE = 'A5'\n")
    assert packages.altered_files(pins) == (1, ["paper: paper.py"])
    package.unlink()
    assert packages.altered_files(pins) == (1, ["paper: paper.py"])


def test_the_script_fails_for_such_packages(package, settings):
    settings.BASE_DIR = package.parent
    (package.parent / "requirements.txt").write_text("paper==1.2 \\\n")
    assert look("Compare the packages").result is StepOutcome.PASS
    assert look("Hash the files").result is StepOutcome.PASS
    package.write_text("SIZE = 'A5'\n")
    assert look("Hash the files").observed == "1 of 1 files differ: paper: paper.py"
    (package.parent / "requirements.txt").write_text("paper==1.3 \\\n")
    assert look("Compare the packages").observed == "paper is 1.2, pinned is 1.3"


@pytest.mark.usefixtures("package")
def test_packages_in_other_versions_and_missing_ones_are_named(tmp_path):
    pins = tmp_path / "requirements.txt"
    pins.write_text(
        "# a comment\n"
        "paper==1.3 \\\n    --hash=sha256:00\n"
        "nowhere==1.0 \\\n"
        "only-there[x]==1.0 ; sys_platform == 'win32' \\\n"
    )
    assert list(packages.version_mismatches(packages.read_pins(pins))) == [
        "paper is 1.2, pinned is 1.3",
        "nowhere is missing",
    ]


def test_no_secret_is_shown(settings):
    settings.SECRET_KEY = settings.EMAIL_HOST_PASSWORD = "hush"
    settings.REDIS_URL = "redis://user:hush@cache.example/0"
    settings.ALERT_WEBHOOK = "https://hooks.example.org/hush"
    settings.DATABASE_OWNER = {"NAME": "ledger", "USER": "owner", "PASSWORD": "hush"}
    shown = values.displayed_settings()
    assert not [name for name, value in shown.items() if "hush" in value]
    assert shown["REDIS_URL"] == "redis://...@cache.example/0"
    assert shown["SECRET_KEY"] == values.HIDDEN
    assert shown["LOCKOUT_FAILURES"] == "5"


def differs():
    raise StepFailed("3")


def noted():
    raise NeedsJudgement("perhaps")


def breaks():
    raise ZeroDivisionError("by nothing")


def test_a_step_that_breaks_has_failed_and_the_next_is_taken():
    looks = (breaks, noted, differs, lambda: "2")
    script = [ScriptStep(f"S-{n}", "Count.", "2.", look) for n, look in enumerate(looks)]
    told = [(each.result, each.observed) for each in steps.run_steps(script, quiet)]
    assert told == [
        (StepOutcome.FAIL, "The step broke: ZeroDivisionError: by nothing"),
        (StepOutcome.NOTE, "perhaps"),
        (StepOutcome.FAIL, "3"),
        (StepOutcome.PASS, "2"),
    ]


def test_after_a_needed_step_that_failed_nothing_is_done():
    script = [ScriptStep("S-1", "", "", differs, is_needed=True), ScriptStep("S-2", "", "", breaks)]
    told = [(each.result, each.observed) for each in steps.run_steps(script, quiet)]
    assert told[1] == (StepOutcome.NOT_RUN, "S-1 failed, which this needs")
