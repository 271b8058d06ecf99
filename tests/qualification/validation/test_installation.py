"""The installation script finds faults of an installation and changes nothing."""

import base64
import dataclasses
import hashlib

import pytest
from django.core import checks
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from audit.ledger import append_only, queries
from audit.ledger.actors import Actor
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


def ignore(_result):
    pass


def run_step(action):
    """Run the step whose action begins with these words, and return its result."""
    [step] = [each for each in installation.SCRIPT.steps() if each.action.startswith(action)]
    [result] = steps.run_steps([step], ignore)
    return result


@pytest.mark.slow
def test_each_step_has_an_observation_and_writes_no_entry():
    before = queries.get_last_entry()
    results = list(steps.run_steps(installation.SCRIPT.steps(), ignore))
    assert [each.id for each in results] == [f"IQ-{n:02}" for n in range(1, 17)]
    assert all(each.observed for each in results)
    assert not [each for each in results if "The step raised" in each.observed]
    assert queries.get_last_entry() == before


def test_a_dropped_trigger_is_named():
    assert run_step("Compare the triggers of the ledger").outcome is StepOutcome.PASS
    name, table = next(iter(append_only.trigger_tables(connection.vendor).items()))
    on = "" if connection.vendor == "sqlite" else f" ON {table}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}{on}")
    result = run_step("Compare the triggers of the ledger")
    append_only.install_triggers(connection)
    assert (result.outcome, name in result.observed) == (StepOutcome.FAIL, True)


def test_a_language_that_is_not_installed_is_named(settings):
    settings.READING_LIMITS = dataclasses.replace(settings.READING_LIMITS, languages="eng+tlh")
    result = run_step("Query tesseract")
    assert result.outcome is StepOutcome.FAIL
    assert result.observed.endswith("not installed: tlh")


def test_debug_mode_is_a_failure(settings):
    settings.DEBUG, settings.HTTPS_ONLY = False, True
    assert run_step("Read the mode of operation").outcome is StepOutcome.PASS
    settings.DEBUG = True
    assert run_step("Read the mode of operation").outcome is StepOutcome.FAIL


def test_code_that_is_not_a_release_needs_judgement(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(installation.identity, "commit_id", lambda _: "0abc-dirty")
    result = run_step("Identify the software")
    assert (result.outcome, "with changed files" in result.observed) == (StepOutcome.NOTE, True)
    monkeypatch.undo()
    settings.BASE_DIR = tmp_path
    assert "this is not a checkout" in run_step("Identify the software").observed


def test_an_old_python_is_a_failure(monkeypatch):
    monkeypatch.setattr(installation, "MIN_PYTHON", (99, 0))
    assert run_step("Read the version of Python").outcome is StepOutcome.FAIL


def test_a_missing_tesseract_is_a_failure(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert (
        run_step("Query tesseract").observed == "tesseract is not installed: scans cannot be read"
    )


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ({"synchronous": "2", "journal_mode": "wal", "fsync": "on"}, StepOutcome.PASS),
        ({"synchronous": "1", "journal_mode": "wal", "fsync": "off"}, StepOutcome.FAIL),
    ],
)
def test_a_database_without_durability_is_a_failure(monkeypatch, answers, result):
    monkeypatch.setattr(installation, "query_value", lambda sql: answers.get(sql.split()[-1], "on"))
    assert run_step("Query the database").outcome is result


def test_a_missing_migration_is_named():
    assert run_step("Compare the schema of the database").outcome is StepOutcome.PASS
    recorder = MigrationRecorder(connection)
    last = recorder.migration_qs.filter(app="ingestion").order_by("name").last()
    recorder.record_unapplied("ingestion", last.name)
    result = run_step("Compare the schema of the database")
    assert (result.outcome, f"ingestion.{last.name} is missing" in result.observed) == (
        StepOutcome.FAIL,
        True,
    )


@pytest.mark.parametrize(
    ("found", "result"),
    [
        ([], StepOutcome.PASS),
        ([checks.Warning("A warning.", id="here.W001")], StepOutcome.NOTE),
        (
            [checks.Warning("A warning."), checks.Error("An error.", id="here.E001")],
            StepOutcome.FAIL,
        ),
    ],
)
def test_errors_of_system_checks_fail_and_warnings_need_judgement(monkeypatch, found, result):
    monkeypatch.setattr(installation.checks, "run_checks", lambda **_: found)
    assert run_step("Run all system checks").outcome is result


@pytest.fixture
def signed(settings, tmp_path):
    """The ledger has a key, and a checkpoint that is anchored in a folder."""
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    key_rotation.create_key(by=Actor.software("tests", "operations"))
    sign_all()
    anchors.anchor_all()


@pytest.mark.usefixtures("signed")
def test_keys_and_the_anchor_of_the_newest_checkpoint_are_reported():
    assert "-rw-------" in run_step("Read the keys of the ledger").observed
    result = run_step("Find where the newest checkpoint is stored")
    assert (result.outcome, "no anchor is independent" in result.observed) == (
        StepOutcome.NOTE,
        True,
    )
    keys.get_private_file().unlink()
    assert "signs nothing" in run_step("Read the keys of the ledger").observed


def test_recorded_clock_differences_are_reported(settings, monkeypatch):
    settings.NTP_SERVER = "ntp.example.org"
    assert run_step("Find recorded differences").outcome is StepOutcome.PASS
    monkeypatch.setattr(
        installation.clock, "list_excessive_skews", lambda: ["host one is 90 s ahead"]
    )
    assert run_step("Find recorded differences").observed == "host one is 90 s ahead"


def test_a_full_disk_and_a_world_writable_folder_are_failures(settings, tmp_path, monkeypatch):
    for name in installation.FOLDER_SETTINGS:
        setattr(settings, name, tmp_path / name)
    assert run_step("Read the owners and permissions").observed.count("not created yet") == 4
    settings.ARCHIVE_DIR.mkdir()
    settings.ARCHIVE_DIR.chmod(0o777)
    result = run_step("Read the owners and permissions")
    assert (result.outcome, "writable for all users: ARCHIVE_DIR" in result.observed) == (
        StepOutcome.FAIL,
        True,
    )
    monkeypatch.setattr(
        installation.disk_space, "describe_low_space", lambda: "ARCHIVE_DIR has 3 MB left"
    )
    assert run_step("Read the free space").observed == "ARCHIVE_DIR has 3 MB left"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with one file."""
    info = tmp_path / "paper-1.2.dist-info"
    info.mkdir()
    (tmp_path / "paper.py").write_text("SIZE = 'A4'\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: paper\nVersion: 1.2\n")
    digest = hashlib.sha256((tmp_path / "paper.py").read_bytes()).digest()
    encoded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"paper.py,sha256={encoded},12\npaper-1.2.dist-info/RECORD,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "paper.py"


def test_a_package_with_a_changed_or_removed_file_is_named(package):
    pins = {"paper": {"1.2": False}}
    assert packages.find_altered_files(pins) == (1, [])
    package.write_text("SIZE = 'A5'\n")
    assert packages.find_altered_files(pins) == (1, ["paper: paper.py"])
    package.unlink()
    assert packages.find_altered_files(pins) == (1, ["paper: paper.py"])


def test_the_script_fails_for_altered_packages(package, settings):
    settings.BASE_DIR = package.parent
    (package.parent / "requirements.txt").write_text("paper==1.2 \\\n")
    assert run_step("Compare the packages").outcome is StepOutcome.PASS
    assert run_step("Hash the files").outcome is StepOutcome.PASS
    package.write_text("SIZE = 'A5'\n")
    assert run_step("Hash the files").observed == "1 of 1 files differ: paper: paper.py"
    (package.parent / "requirements.txt").write_text("paper==1.3 \\\n")
    assert run_step("Compare the packages").observed == "paper is 1.2, pinned is 1.3"


@pytest.mark.usefixtures("package")
def test_packages_with_other_versions_and_missing_packages_are_named(tmp_path):
    pins = tmp_path / "requirements.txt"
    pins.write_text(
        "# a comment\n"
        "paper==1.3 \\\n    --hash=sha256:00\n"
        "nowhere==1.0 \\\n"
        "only-there[x]==1.0 ; sys_platform == 'win32' \\\n"
    )
    assert list(packages.find_version_mismatches(packages.read_pins(pins))) == [
        "paper is 1.2, pinned is 1.3",
        "nowhere is missing",
    ]


def test_no_secret_is_displayed(settings):
    settings.SECRET_KEY = settings.EMAIL_HOST_PASSWORD = "hush"
    settings.REDIS_URL = "redis://user:hush@cache.example/0"
    settings.ALERT_WEBHOOK = "https://hooks.example.org/hush"
    settings.DATABASE_OWNER = {"NAME": "ledger", "USER": "owner", "PASSWORD": "hush"}
    displayed = values.read_displayed_settings()
    assert not [name for name, value in displayed.items() if "hush" in value]
    assert displayed["REDIS_URL"] == "redis://...@cache.example/0"
    assert displayed["SECRET_KEY"] == values.HIDDEN
    assert displayed["LOCKOUT_FAILURES"] == "5"


def fail():
    raise StepFailed("3")


def need_judgement():
    raise NeedsJudgement("perhaps")


def crash():
    raise ZeroDivisionError("by nothing")


def test_a_step_with_an_exception_has_failed_and_the_next_one_runs():
    functions = (crash, need_judgement, fail, lambda: "2")
    script = [
        ScriptStep(f"S-{n}", "Count.", "2.", function) for n, function in enumerate(functions)
    ]
    results = [(each.outcome, each.observed) for each in steps.run_steps(script, ignore)]
    assert results == [
        (StepOutcome.FAIL, "The step raised ZeroDivisionError: by nothing"),
        (StepOutcome.NOTE, "perhaps"),
        (StepOutcome.FAIL, "3"),
        (StepOutcome.PASS, "2"),
    ]


def test_after_a_failed_required_step_no_later_step_runs():
    script = [ScriptStep("S-1", "", "", fail, is_needed=True), ScriptStep("S-2", "", "", crash)]
    results = [(each.outcome, each.observed) for each in steps.run_steps(script, ignore)]
    assert results[1] == (StepOutcome.NOT_RUN, "not run because step S-1 failed")
