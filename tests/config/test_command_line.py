"""Failures of commands are lines of the log, and readable for a person at a terminal."""

import json
import os
import pty
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from config.logs import KEYS

ROOT = Path(__file__).parents[2]


def make_environment(folder, **changes):
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATA_DIR": str(folder),
        "LOG_FORMAT": "json",
        "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
        **changes,
    }


def run(arguments, environment, **options):
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, check=False, text=True,
        stdout=subprocess.PIPE, **{"stderr": subprocess.PIPE, **options},
    )  # fmt: skip


def read_line(done):
    """Return the last line of the log. Those before it are the findings of system checks."""
    *findings, line = map(json.loads, done.stderr.splitlines())
    assert all(each["event"].startswith("system check: ") for each in findings)
    return line


@pytest.mark.parametrize("command", ["status", "workers"])
def test_an_unexpected_error_of_a_command_is_one_line_without_its_message(tmp_path, command):
    environment = make_environment(tmp_path, DATABASE_URL="sqlite:////tmp/none/Jane-Roe")
    done = run(["manage.py", command], environment)
    assert done.returncode == 1
    line = read_line(done)
    assert line.keys() <= set(KEYS)
    assert line["event"].startswith(f"manage.py {command} failed: OperationalError at ")
    assert (line["level"], line["code"]) == ("error", "OperationalError")
    assert uuid.UUID(line["correlation_id"])
    assert "unable to open" not in done.stderr


def test_a_refusal_of_a_command_is_one_line_with_its_exit_code(tmp_path):
    file = tmp_path / "Jane Roe.ndjson"
    done = run(["manage.py", "ingest_manifest", str(file)], make_environment(tmp_path))
    line = read_line(done)
    assert (done.returncode, line["code"]) == (1, "CommandError")
    assert line["event"].startswith("manage.py ingest_manifest failed: CommandError at ")
    assert "Jane" not in done.stderr


USAGE_ERRORS = {
    "file --unknown Jane": "wrong arguments: unknown argument. --help",
    "file --priority Jane": "wrong arguments: argument --priority. --help",
    "": "wrong arguments: the following arguments are required: file. --help",
}


@pytest.mark.parametrize("arguments", USAGE_ERRORS)
def test_wrong_arguments_of_a_command_are_one_line_without_their_values(tmp_path, arguments):
    command = ["manage.py", "ingest_manifest", *arguments.split()]
    done = run(command, make_environment(tmp_path))
    [line] = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, line["code"], line["level"]) == (2, "UsageError", "error")
    assert USAGE_ERRORS[arguments] in line["event"]
    assert "Jane" not in done.stderr


def test_an_unknown_command_is_one_line(tmp_path):
    done = run(["manage.py", "ingest"], make_environment(tmp_path))
    [line] = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, line["event"]) == (1, "manage.py has no such command")


@pytest.mark.parametrize("command", ["check", "status"])
def test_each_finding_of_the_system_checks_is_one_line_with_its_code(tmp_path, command):
    environment = make_environment(tmp_path, FETCH_TRIES="0", REVIEW_WORKING_DAYS="0")
    done = run(["manage.py", command], environment)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    errors = {line["code"]: line["event"] for line in lines if line["level"] == "error"}
    assert done.returncode == 1
    assert len(errors) == 2
    assert any("FETCH_TRIES" in event for event in errors.values())
    assert all(code.startswith("ingestion.E") for code in errors)


def test_the_system_checks_state_their_result_on_stdout(tmp_path):
    done = run(["manage.py", "check"], make_environment(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("System checks: ")


@pytest.mark.parametrize("changes", [{"LOG_FORMAT": "text"}, {}])
def test_a_person_at_a_terminal_reads_why_a_command_is_refused(tmp_path, changes):
    screen, terminal = pty.openpty()
    command = ["manage.py", "ingest_manifest", str(tmp_path / "none.ndjson")]
    done = run(command, make_environment(tmp_path, **changes), stderr=terminal)
    os.close(terminal)
    written = os.read(screen, 10_000).decode()
    os.close(screen)
    assert done.returncode == 1
    assert "none.ndjson cannot be read" in written


ENDINGS = {
    "a process ended with an error": "raise ValueError('Jane Roe')",
    "a thread ended with an error": ("threading.Thread(target=lambda: int('Jane Roe')).start()"),
}


@pytest.mark.parametrize("event", ENDINGS)
def test_an_error_that_ends_a_process_or_a_thread_is_one_line(tmp_path, event):
    code = (
        "import threading, django; django.setup()\n"
        "from audit.unhandled_errors import log_unhandled_errors; log_unhandled_errors()\n"
    )
    done = run(["-c", code + ENDINGS[event]], make_environment(tmp_path))
    line = read_line(done)
    assert line["event"].startswith(f"{event}: ValueError at ")
    assert line["level"] == "critical"
    assert "Jane" not in done.stderr


def test_the_resource_tracker_writes_nothing_into_the_log(tmp_path):
    code = (
        "import os, django; django.setup()\n"
        "from audit.unhandled_errors import log_unhandled_errors; log_unhandled_errors()\n"
        "from multiprocessing import resource_tracker\n"
        "resource_tracker.register('/of-a-killed-process', 'semaphore')\n"
        "os._exit(0)\n"
    )
    assert run(["-c", code], make_environment(tmp_path)).stderr == ""
