"""Tests that a batch survives the killing of every kind of process at random moments.

With every seed, the batch ends as the generator of its documents expects: no document is lost, and
none is filed twice. `CHAOS_SEED=7` runs the tests with another seed.
"""

import json
import logging
import os
import random
import signal
import time
from collections import Counter
from contextlib import ExitStack, suppress

import pytest
from django.core.management import call_command
from django.utils import timezone

from audit.ledger.queries import list_entries
from audit.verification import verify
from ingestion.intake import manifest, registration
from ingestion.models import Chunk
from ingestion.operations import reconciliation
from samples.corpus import write_corpus
from samples.portal import SamplePortal
from sites.models import Portal
from tests.ingestion.dispatch.conftest import NOWHERE, SUBMISSION
from tests.ingestion.hosts import (
    descendants,
    eventually,
    find,
    folders_of,
    is_running,
    start_host,
    stop_host,
)
from tests.ingestion.whole_batches import assert_outcome, is_completed

logger = logging.getLogger(__name__)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storm]

KINDS = ["worker", "parser", "monitor", "pusher", "sentinel", "cluster", "all", "host"]
HOSTS, SETTLERS = 2, 2
INTERRUPTING = {"worker", "sentinel", "cluster", "all", "host"}  # kills that end a shift
TERMS = {"SHIFT_MAX_CHUNKS": "2", "SETTLERS": str(SETTLERS), "PARSER_PROCESSES": "1"}


def seeds(default):
    seed = int(os.environ.get("CHAOS_SEED", default))
    return pytest.mark.parametrize("seed", [seed], ids=[f"seed {seed}"])


@pytest.fixture(scope="module")
def corpus_of(tmp_path_factory):
    def corpus_of(sites):
        folder = tmp_path_factory.mktemp(f"sites-{sites}")
        return write_corpus(folder, base_url=NOWHERE, today=timezone.now().date(), sites=sites)

    return corpus_of


def submit(corpus, portal, *, copies):
    """Submit every document under several names, which makes a small corpus a long batch."""
    sites = corpus.directory / "sites-here.json"
    sites.write_text(corpus.sites.read_text().replace(NOWHERE, portal.base_url))
    call_command("load_sites", str(sites), verbosity=0)
    Portal.objects.update(rate_per_second=100.0, burst=100)
    lines = map(json.loads, corpus.manifest.read_text().splitlines())
    named = [
        line | {"doc_id": f"{line['doc_id']}.{copy}", "url": line["url"]}
        for line in lines
        for copy in range(copies)
    ]
    text = "\n".join(map(json.dumps, named)).replace(NOWHERE, portal.base_url)
    return registration.register_manifest(manifest.read_manifest(text), SUBMISSION)


class ProcessKiller:
    """Kills processes of hosts, and restarts killed hosts as an init system would."""

    def __init__(self, settings, seed, stack, broker):
        self._settings = settings
        self._terms = TERMS | broker
        self._random = random.Random(seed)
        self._stack = stack
        self.hosts = []
        self.started = []
        self.kills = Counter()
        for _ in range(HOSTS):
            self._start()

    def kill_processes(self, batch, kills):
        """Kill processes at random moments, spread over the progress of the batch."""
        kinds = [kind for _ in range(kills) for kind in self._random.sample(KINDS, len(KINDS))]
        total = batch.documents.count()
        for number, kind in enumerate(kinds[:kills]):
            share = total * number // kills
            eventually(lambda share=share: count_settled(batch) >= share)
            time.sleep(self._random.uniform(0, 0.5))
            if count_settled(batch) == total:
                return
            self._kill(kind, batch)

    def _kill(self, kind, batch):
        if kind == "host":
            self._kill_host()
            return
        pids = eventually(
            lambda: [pid for host in self.hosts for pid in find(host, kind)] or is_completed(batch)
        )
        if pids is True:
            return
        for pid in pids if kind == "all" else [self._random.choice(sorted(pids))]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.kills[kind] += 1

    def _kill_host(self):
        host = self.hosts.pop(self._random.randrange(len(self.hosts)))
        host.kill()
        host.wait()
        host.stdout.close()
        self.kills["host"] += 1
        self._start()

    def _start(self):
        host = start_host(self._settings, **self._terms)
        self._stack.callback(stop_host, host)
        self.hosts.append(host)
        self.started.append(host)

    def assert_no_traces(self):
        family = {pid for host in self.hosts for pid in descendants(host.pid)}
        for host in self.hosts:
            stop_host(host)
        eventually(lambda: not [pid for pid in family if is_running(pid)])
        for host in self.hosts:
            assert not folders_of(host)
        assert not Chunk.objects.exclude(lease_id=None).exists()
        assert not [path for path in self._settings.SPOOL_DIR.rglob("*") if path.is_file()]


def count_settled(batch):
    return batch.documents.exclude(settled_at=None).count()


def assert_expected_outcomes(corpus, batch, copies):
    rows = batch.documents.select_related("site")
    documents = {(row.site.site_id, row.doc_id): row for row in rows}
    assert len(documents) == corpus.documents * copies
    for expected in corpus.expectations:
        for copy in range(copies):
            document = documents[expected.site_id, f"{expected.doc_id}.{copy}"]
            assert_outcome(document, expected)


def count_repeated_checks(batch):
    """Return how many times checking was repeated. Each document was filed once at most."""
    subjects = [document.subject for document in batch.documents.all()]
    events = Counter((entry.subject, entry.event) for entry in list_entries(*subjects))
    twice = [key for key, n in events.items() if key[1] == "document.filed" and n > 1]
    assert not twice
    return sum(n - 1 for (_, event), n in events.items() if event == "document.checking")


def survive_kills(corpus, settings, broker, *, seed, copies, kills):
    """Work on a batch while processes are killed. Returns the share of repeated checks."""
    settings.CHUNK_SIZE = 10
    with SamplePortal(corpus.directory, {}, faults=0.05, seed=seed) as portal, ExitStack() as stack:
        batch = submit(corpus, portal, copies=copies)
        killer = ProcessKiller(settings, seed, stack, broker)
        killer.kill_processes(batch, kills)
        eventually(lambda: is_completed(batch))
        killer.assert_no_traces()
    assert_expected_outcomes(corpus, batch, copies)
    repeated = count_repeated_checks(batch)
    interruptions = sum(
        killer.kills[kind] * (HOSTS if kind == "all" else 1) for kind in INTERRUPTING
    )
    total = batch.documents.count()
    logger.info("%s: %d of %d documents were checked again", dict(killer.kills), repeated, total)
    assert repeated <= interruptions * SETTLERS
    assert not list(reconciliation.check_document_rows_against_ledger())
    assert verify.verify_ledger().intact
    return repeated / total


@seeds(1)
@pytest.mark.slow  # test_stuck_states, test_workers and test_poison kill each kind of process
def test_a_batch_survives_killed_processes(seed, broker, corpus_of, settings):
    survive_kills(corpus_of(2), settings, broker, seed=seed, copies=2, kills=4)


@seeds(2026)
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_long_batch_survives_many_kills_and_repeats_little_work(
    seed, broker, corpus_of, settings
):
    assert survive_kills(corpus_of(12), settings, broker, seed=seed, copies=3, kills=12) < 0.05
