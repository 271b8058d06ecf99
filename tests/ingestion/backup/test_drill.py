"""The disaster drill: a machine is lost during its work, and another one continues."""

import subprocess
import sys

import pytest
from django.core.management import call_command
from django.utils import timezone

from audit.verification.verify import verify_ledger
from ingestion.intake import manifest, registration
from ingestion.models import Document
from ingestion.storage import archive_verification
from samples.corpus import write_corpus
from samples.portal import SamplePortal, SiteLimit
from sites.models import Portal
from tests.ingestion.backup.conftest import backups, run
from tests.ingestion.dispatch.conftest import NOWHERE, SUBMISSION
from tests.ingestion.hosts import environment, eventually, kill, worker_host
from tests.ingestion.whole_batches import (
    assert_filed_once,
    assert_outcomes,
    has_settled_documents,
    is_completed,
)

pytestmark = [
    pytest.mark.storm,
    pytest.mark.requirement("R31"),
    pytest.mark.requirement("R32"),
]


def assert_intact():
    assert_filed_once()
    assert archive_verification.verify_parts(asked_by="system:tests").intact
    assert verify_ledger().intact


@pytest.mark.slow
def test_documents_that_waited_during_the_backup_continue_elsewhere(
    target, filed, waiting, elsewhere, settings
):
    assert run("backup", target) == 0
    with elsewhere():
        assert run("restore", target) == 0
        with worker_host(settings):
            eventually(lambda: Document.objects.get(pk=waiting.pk).settled_at)
        waiting.refresh_from_db()
        assert waiting.sha256 == waiting.expected_sha256
        assert_intact()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_machine_that_is_lost_at_work_is_restored_from_a_backup(
    target, elsewhere, settings, tmp_path
):
    today = timezone.now().date()
    corpus = write_corpus(tmp_path / "corpus", base_url=NOWHERE, today=today, sites=2)
    slow = {each.site_id: SiteLimit(0.5, 1) for each in corpus.expectations}
    with SamplePortal(corpus.directory, slow, faults=0) as portal:
        batch = submitted(corpus, portal, tmp_path)
        with worker_host(settings) as host:
            eventually(lambda: has_settled_documents(batch))
            command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "backup", str(target)]
            subprocess.run(command, env=environment(settings), check=True)
            kill(host, "all")
            host.kill()
        assert len(backups(target)) == 1
        with elsewhere():
            assert run("restore", target) == 0
            assert has_settled_documents(batch)
            assert not is_completed(batch)
            with worker_host(settings):
                eventually(lambda: is_completed(batch), seconds=180)
            assert_outcomes(corpus, batch)
            assert_intact()


def submitted(corpus, portal, folder):
    sites = folder / "sites.json"
    sites.write_text(corpus.sites.read_text().replace(NOWHERE, portal.base_url))
    call_command("load_sites", str(sites), verbosity=0)
    Portal.objects.update(rate_per_second=0.5, burst=1)
    lines = corpus.manifest.read_text().replace(NOWHERE, portal.base_url)
    return registration.register_manifest(manifest.read_manifest(lines), SUBMISSION)
