"""Tests that nothing that blocks runs in the thread of the event loop during a shift.

The interpreter's own profiling hook tells which thread called what, so no part of the product is
replaced or wrapped, and a blocking call is seen wherever somebody adds it.
"""

import sys
import threading
from collections import defaultdict

import pytest
from django.db.backends.signals import connection_created

from ingestion.core.states import DocumentState
from ingestion.dispatch.shift import work_shift
from ingestion.models import Document
from samples.portal import SamplePortal, read_limits

pytestmark = pytest.mark.django_db(transaction=True)

PARSERS = {"cv2", "pikepdf", "PIL", "pypdf", "pypdfium2", "pytesseract", "tesserocr"}
WRITERS = {"BufferedWriter", "FileIO"}


def python_work(frame):
    module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
    if module == "django.db.backends.utils" and name == "execute":
        return "database"
    if name != "__init__":  # a plain value is made where it is needed
        if module.startswith("ingestion.rules."):
            return "deciding"
        if module == "ingestion.documents.transitions":
            return "recording"
    if module == "ingestion.storage.spool":
        return "writing"
    return "parsing" if module.partition(".")[0] in PARSERS else None


def c_work(function):
    owner, name = type(getattr(function, "__self__", None)).__name__, function.__name__
    if (owner, name) == ("HASH", "update"):
        return "hashing"
    return "writing" if name == "fsync" or (owner in WRITERS and name == "write") else None


class Watch:
    """Which threads did which kind of work, from here on and in threads that start later."""

    def __init__(self):
        self.threads = defaultdict(set)
        self.connections = []

    def __call__(self, frame, event, argument):
        kind = None
        if event == "call":
            kind = python_work(frame)
        elif event == "c_call":
            kind = c_work(argument)
        if kind:
            self.threads[kind].add(threading.current_thread().name)

    def connected(self, connection, **signal):
        self.connections.append(connection)

    def __enter__(self):
        connection_created.connect(self.connected)
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *exception):
        sys.setprofile(None)
        threading.setprofile(None)
        connection_created.disconnect(self.connected)


@pytest.fixture
def watched(one_site, submit):
    with SamplePortal(one_site.directory, read_limits(one_site.sites), faults=0.3) as portal:
        submit(one_site, portal)
        with Watch() as watch:
            work_shift()
    assert Document.objects.filter(state=DocumentState.ARCHIVED, pages__gt=0).exists()
    return watch


def test_no_blocking_work_runs_in_the_event_loops_thread_and_parsing_in_no_thread_at_all(watched):
    here = threading.current_thread().name
    kinds = {"database", "deciding", "recording", "hashing", "writing"}
    assert set(watched.threads) == kinds
    assert [kind for kind, threads in watched.threads.items() if here in threads] == []


def test_all_database_work_has_one_thread_whose_connection_is_closed_with_the_shift(watched):
    assert len(watched.threads["database"]) == 1
    assert watched.threads["recording"] == watched.threads["database"]
    assert watched.connections
    assert all(connection.connection is None for connection in watched.connections)
