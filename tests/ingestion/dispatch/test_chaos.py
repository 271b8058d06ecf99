"""A storm over a batch: every kind of process is killed at random moments, again and again.

Whatever a seed does, the batch ends as its generator says: nothing lost, nothing filed twice. Run
another storm with CHAOS_SEED=7.
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

from audit.ledger.queries import timeline
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
from tests.ingestion.scenes import assert_as_expected, is_completed

logger = logging.getLogger(__name__)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storm]

KINDS = ["worker", "parser", "monitor", "pusher", "sentinel", "cluster", "all", "host"]
HOSTS, SETTLERS = 2, 2
DEADLY = {"worker", "sentinel", "cluster", "all", "host"}  # for what a worker has in hand
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
    """Every document under several names: a long batch from a corpus that is written quickly."""
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


class Storm:
    """Strikes hosts, and starts those again that were killed themselves, as an init would."""

    def __init__(self, settings, seed, stack, broker):
        self._settings = settings
        self._terms = TERMS | broker
        self._dice = random.Random(seed)
        self._stack = stack
        self.hosts = []
        self.started = []
        self.strikes = Counter()
        for _ in range(HOSTS):
            self._start()

    def rage(self, batch, strikes):
        """Spread over the batch: by how much of it is settled, and then at any moment."""
        kinds = [kind for _ in range(strikes) for kind in self._dice.sample(KINDS, len(KINDS))]
        total = batch.documents.count()
        for number, kind in enumerate(kinds[:strikes]):
            share = total * number // strikes
            eventually(lambda share=share: settled(batch) >= share)
            time.sleep(self._dice.uniform(0, 0.5))
            if settled(batch) == total:
                return
            self._strike(kind, batch)

    def _strike(self, kind, batch):
        if kind == "host":
            self._strike_host()
            return
        struck = eventually(
            lambda: [pid for host in self.hosts for pid in find(host, kind)] or is_completed(batch)
        )
        if struck is True:
            return
        for pid in struck if kind == "all" else [self._dice.choice(sorted(struck))]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.strikes[kind] += 1

    def _strike_host(self):
        host = self.hosts.pop(self._dice.randrange(len(self.hosts)))
        host.kill()
        host.wait()
        host.stdout.close()
        self.strikes["host"] += 1
        self._start()

    def _start(self):
        host = start_host(self._settings, **self._terms)
        self._stack.callback(stop_host, host)
        self.hosts.append(host)
        self.started.append(host)

    def ends_without_a_trace(self):
        family = {pid for host in self.hosts for pid in descendants(host.pid)}
        for host in self.hosts:
            stop_host(host)
        eventually(lambda: not [pid for pid in family if is_running(pid)])
        for host in self.hosts:
            assert not folders_of(host)
        assert not Chunk.objects.exclude(lease_id=None).exists()
        assert not [path for path in self._settings.SPOOL_DIR.rglob("*") if path.is_file()]


def settled(batch):
    return batch.documents.exclude(settled_at=None).count()


def is_as_its_generator_says(corpus, batch, copies):
    rows = batch.documents.select_related("site")
    documents = {(row.site.site_id, row.doc_id): row for row in rows}
    assert len(documents) == corpus.documents * copies
    for expected in corpus.expectations:
        for copy in range(copies):
            document = documents[expected.site_id, f"{expected.doc_id}.{copy}"]
            assert_as_expected(document, expected)


def work_done_again(batch):
    """How many readings were begun beyond each document's first; each was filed once at most."""
    subjects = [document.subject for document in batch.documents.all()]
    events = Counter((entry.subject, entry.event) for entry in timeline(*subjects))
    twice = [key for key, n in events.items() if key[1] == "document.filed" and n > 1]
    assert not twice
    return sum(n - 1 for (_, event), n in events.items() if event == "document.checking")


def ride_out(corpus, settings, broker, *, seed, copies, strikes):
    """Answers the share of work that was done again."""
    settings.CHUNK_SIZE = 10
    with SamplePortal(corpus.directory, {}, faults=0.05, seed=seed) as portal, ExitStack() as stack:
        batch = submit(corpus, portal, copies=copies)
        storm = Storm(settings, seed, stack, broker)
        storm.rage(batch, strikes)
        eventually(lambda: is_completed(batch))
        storm.ends_without_a_trace()
    is_as_its_generator_says(corpus, batch, copies)
    again = work_done_again(batch)
    deadly = sum(storm.strikes[kind] * (HOSTS if kind == "all" else 1) for kind in DEADLY)
    total = batch.documents.count()
    logger.info("%s: %d of %d readings were begun again", dict(storm.strikes), again, total)
    assert again <= deadly * SETTLERS
    assert not list(reconciliation.rows_agree_with_the_ledger())
    assert verify.verify_ledger().intact
    return again / total


@seeds(1)
def test_a_batch_outlives_a_storm(seed, broker, corpus_of, settings):
    ride_out(corpus_of(2), settings, broker, seed=seed, copies=2, strikes=4)


@seeds(2026)
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_long_batch_outlives_a_long_storm_and_hardly_any_work_is_done_twice(
    seed, broker, corpus_of, settings
):
    assert ride_out(corpus_of(12), settings, broker, seed=seed, copies=3, strikes=12) < 0.05
