"""Writes the results of a test run for `manage.py validation_report --results`.

`scripts/test -p tests.evidence --evidence DIR` writes a file for each of its lanes.
"""

import getpass
import os
import platform
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qualification.validation import identity
from qualification.validation.marks import MARK
from qualification.validation.results import TestCase, TestRun

WORSE = ("passed", "skipped", "failed")


def pytest_addoption(parser):
    parser.addoption("--evidence", type=Path, metavar="DIR", help="where results are written")


def pytest_configure(config):
    if folder := config.getoption("--evidence"):
        config.pluginmanager.register(Evidence(folder, config))


class Evidence:
    def __init__(self, folder, config):
        self._folder, self._config = folder.absolute(), config
        self._started, self._cases, self._marks = _now(), {}, {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        self._marks = {
            item.nodeid: sorted({mark.args[0] for mark in item.iter_markers(MARK)})
            for item in items
        }

    def pytest_runtest_logreport(self, report):
        """Store the worst outcome of setup, call and teardown."""
        before = self._cases.get(report.nodeid)
        ends = [report.outcome, *([before.outcome] if before else [])]
        self._cases[report.nodeid] = TestCase(
            id=report.nodeid,
            outcome=max(ends, key=WORSE.index),
            requirements=self._marks.get(report.nodeid, []),
            seconds=round(report.duration + (before.seconds if before else 0.0), 3),
        )

    def pytest_sessionfinish(self, exitstatus):
        from django.conf import settings  # noqa: PLC0415 - by now there are some
        from django.db import connection  # noqa: PLC0415

        run = TestRun(
            started=self._started,
            ended=_now(),
            host=socket.gethostname(),
            user=getpass.getuser(),
            python=platform.python_version(),
            database=connection.vendor,
            software=settings.SOFTWARE_VERSION,
            commit=identity.commit_id(settings.BASE_DIR),
            code=identity.compute_code_digest(settings.BASE_DIR),
            arguments=sys.argv[1:],
            exit_code=int(exitstatus),
            tests=list(self._cases.values()),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{run.database}-{run.started.replace(':', '')}-{os.getpid()}.json"
        (self._folder / name).write_text(run.model_dump_json(indent=1), encoding="utf-8")


def _now():
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
