"""The first shift of a worker imports nothing, because the cluster did so before the fork."""

import subprocess
import sys

import pytest

from tests.factories import make_batch, make_site
from tests.ingestion.hosts import environment

PROGRAM = """
import os, sys
import django
django.setup()
from django_q.conf import Conf
from ingestion.dispatch.processes import cluster
from ingestion.dispatch.processes.patched_cluster import Cluster
cluster.prepare_first_shift()
before = set(sys.modules)
from ingestion import tasks
print(tasks.work_shift())
print("imported:", sorted(set(sys.modules) - before))
"""


@pytest.mark.django_db(transaction=True)
def test_a_first_shift_with_a_document_of_a_portal_imports_no_module(settings):
    batch = make_batch(make_site("1001", base_url="http://127.0.0.1:9/docs/"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(settings),
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    report, imported = done.stdout.splitlines()[-2:]
    assert report.startswith(f"{batch.reference}: 1 document")
    assert imported == "imported: []"
