"""Tests that concurrent and killed processes leave one valid chain."""

import os
import signal
import subprocess
import sys
import threading

from django.db import connection

from audit.models import Entry
from audit.verification.verify import verify_ledger
from sites.models import Study
from tests.audit.support import write

# Each entry is recorded with the creation of a study, so their numbers must be equal.
WRITER = """
import sys, django
django.setup()
from django.conf import settings
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from sites.models import Study

name, forever = sys.argv[2], sys.argv[3] == "forever"
n = 0
while n < 10 or forever:
    try:
        with ledger():
            Study.objects.create(protocol_number=f"{name}-{n}")
            record("study.created", subject=f"{name}-{n}", n=0, by=Actor("system:worker"))
            if n % 10 == 3:
                1 / 0
    except ZeroDivisionError:
        pass
    n += 1
    print(n, flush=True)
"""


def start(name, limit="ten", stderr=None):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(connection.settings_dict["NAME"]), name, limit],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def test_concurrent_processes_append_to_one_chain(transactional_db):
    writers = [start(name) for name in ("ann", "ben")]
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    verdict = verify_ledger()
    assert (verdict.intact, verdict.entries) == (True, 18)  # one of ten is rolled back
    assert Study.objects.count() == 18


def test_killed_writers_leave_a_valid_chain_and_no_partial_change(transactional_db):
    writers = [start(name, "forever") for name in ("ann", "ben")]
    for writer in writers:
        for _ in range(5):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    verdict = verify_ledger()
    assert verdict.intact
    assert verdict.entries == Study.objects.count() >= 8


def test_concurrent_threads_append_to_one_chain(transactional_db):
    def append(name):
        for n in range(5):
            write(n, subject=name)
        connection.close()

    threads = [threading.Thread(target=append, args=(f"thread:{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (verify_ledger().intact, Entry.objects.count()) == (True, 20)
