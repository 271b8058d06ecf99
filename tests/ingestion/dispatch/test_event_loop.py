"""Tests that no blocking code runs in the thread of the event loop during a shift.

The profiling hook of the interpreter records which thread called which function. So no part of the
product is replaced or wrapped, and a blocking call is found wherever it is added.
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


def kind_of_python_call(frame):
    module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
    if module == "django.db.backends.utils" and name == "execute":
        return "database"
    if name != "__init__":  # plain values are created in any thread
        if module.startswith("ingestion.rules."):
            return "deciding"
        if module == "ingestion.documents.transitions":
            return "recording"
    if module == "ingestion.storage.spool":
        return "writing"
    return "parsing" if module.partition(".")[0] in PARSERS else None


def kind_of_c_call(function):
    owner, name = type(getattr(function, "__self__", None)).__name__, function.__name__
    if (owner, name) == ("HASH", "update"):
        return "hashing"
    return "writing" if name == "fsync" or (owner in WRITERS and name == "write") else None


class ThreadRecorder:
    """Records which threads do which kind of work, including threads that start later."""

    def __init__(self):
        self.threads = defaultdict(set)
        self.connections = []

    def __call__(self, frame, event, argument):
        kind = None
        if event == "call":
            kind = kind_of_python_call(frame)
        elif event == "c_call":
            kind = kind_of_c_call(argument)
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
def recorded(one_site_with_scans, submit):
    corpus = one_site_with_scans  # the pages of scans are read separately, and judged together
    with SamplePortal(corpus.directory, read_limits(corpus.sites), faults=0.3) as portal:
        submit(corpus, portal)
        with ThreadRecorder() as recorder:
            work_shift()
    assert Document.objects.filter(state=DocumentState.ARCHIVED, pages__gt=0).exists()
    return recorder


def test_blocking_work_runs_outside_the_event_loop_and_parsing_outside_the_process(recorded):
    here = threading.current_thread().name
    kinds = {"database", "deciding", "recording", "hashing", "writing"}
    assert set(recorded.threads) == kinds
    assert [kind for kind, threads in recorded.threads.items() if here in threads] == []
    # All work with the database runs in one thread, which closes its connection.
    assert len(recorded.threads["database"]) == 1
    assert recorded.threads["recording"] == recorded.threads["database"]
    assert recorded.connections
    assert all(connection.connection is None for connection in recorded.connections)
