"""Tests that hosts sign new ledger entries, even after a kill, without waiting for anchors."""

import signal

import pytest
from django.test import override_settings

from audit.ledger.actors import Actor
from audit.signing import (
    anchors,
    checkpoints,
    key_rotation,
    keys,
    signed_note,
)
from samples.portal import SamplePortal, read_limits
from tests.audit.buckets import CREDENTIALS, free_port
from tests.audit.signers import read_back
from tests.ingestion.hosts import eventually, start_host, stop_host, worker_host
from tests.ingestion.whole_batches import assert_outcomes, is_completed

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]


@pytest.fixture(autouse=True)
def _key(settings, tmp_path, transactional_db):
    settings.ANCHOR_DIR = tmp_path / "anchors"
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    key_rotation.create_key(by=Actor.software("tests", "operations"))


def is_all_signed():
    return checkpoints.get_latest_checkpoint() is not None and not checkpoints.count_unsigned()


def find_largest_anchored_size():
    """Return the size of the largest checkpoint in the file that serves as anchor."""
    sizes = [
        signed_note.CheckpointText.parse(
            signed_note.open_note(held.note, keys.read_verifiers())[0]
        ).size
        for held in read_back()
    ]
    return max(sizes, default=0)


def list_unanchored_in_s3():
    """Return the checkpoints that are missing in the bucket.

    The setting names the bucket for this query only: reading from it would need credentials.
    """
    with override_settings(ANCHOR_S3_BUCKET="worm"):
        return anchors.list_unanchored()


@pytest.mark.slow
@pytest.mark.requirement("R05")
def test_the_end_of_a_batch_is_signed_and_anchored(one_site, submit, settings):
    with SamplePortal(one_site.directory, read_limits(one_site.sites)) as portal:
        batch = submit(one_site, portal)
        with worker_host(settings, AUDIT_CHECKPOINT_SECONDS="3600"):
            eventually(lambda: is_completed(batch))
            eventually(is_all_signed)
            eventually(
                lambda: find_largest_anchored_size() == checkpoints.get_latest_checkpoint().size
            )


@pytest.mark.slow
def test_an_unreachable_anchor_does_not_delay_the_work(one_site, submit, settings):
    away = {
        **CREDENTIALS,
        "ANCHOR_S3_BUCKET": "worm",
        "ANCHOR_S3_ENDPOINT": f"http://127.0.0.1:{free_port()}",
    }
    with SamplePortal(one_site.directory, read_limits(one_site.sites)) as portal:
        batch = submit(one_site, portal)
        with worker_host(settings, **away) as host:
            eventually(lambda: is_completed(batch))
            eventually(lambda: any(waiting.attempts for waiting in list_unanchored_in_s3()))
            assert stop_host(host) == 0
    assert_outcomes(one_site, batch)
    assert is_all_signed()
    assert [waiting.anchor for waiting in list_unanchored_in_s3()] == ["s3"]


@pytest.mark.slow
def test_the_next_host_signs_the_entries_of_a_killed_host(one_site, submit, settings):
    with SamplePortal(one_site.directory, read_limits(one_site.sites)) as portal:
        batch = submit(one_site, portal)
        host = start_host(settings, AUDIT_CHECKPOINT_SECONDS="3600", AUDIT_SIGN_AFTER="never")
        eventually(lambda: is_completed(batch))
        host.send_signal(signal.SIGKILL)
        host.stdout.close()
        host.wait()
        assert checkpoints.get_latest_checkpoint() is None
        with worker_host(settings):
            eventually(is_all_signed)
            eventually(
                lambda: find_largest_anchored_size() == checkpoints.get_latest_checkpoint().size
            )
