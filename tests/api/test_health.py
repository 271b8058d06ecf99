"""Probes and metrics for monitoring."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from audit.ledger.queries import get_last_entry
from audit.verification import runs
from audit.verification.start import Mode
from ingestion.models import Chunk
from sites.models import TokenScope
from tests.api.conftest import Program, check_problem, make_token
from tests.audit.signers import CheckpointSigner
from tests.audit.support import sql, triggers_removed, write_many
from tests.factories import make_batch, make_user
from tests.web.operations.conftest import hold
from tests.web.scenes import FILED, make_packet

OTHER_MACHINE = {"REMOTE_ADDR": "10.1.2.3"}


def parse_metrics(response):
    families = text_string_to_metric_families(response.content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_healthz_needs_no_database(client):
    # No `db` fixture: pytest-django refuses every query.
    assert client.get("/healthz").json() == {"status": "ok"}


def test_readyz_returns_200_if_all_checks_pass(client, db):
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["checks"] == ["database", "disk", "queue"]


def test_readyz_returns_503_without_a_database(client, db):
    def fail(*query):
        raise OperationalError("no such host db.internal")

    with connection.execute_wrapper(fail):
        body = check_problem(client.get("/readyz"), 503)
    assert [each["field"] for each in body["errors"]] == ["database", "queue"]
    assert "db.internal" not in str(body), "the page is public"


def test_readyz_returns_503_while_due_work_is_not_claimed(client, site):
    make_batch(site)
    assert client.get("/readyz").status_code == 200
    Chunk.objects.update(next_dispatch_at=timezone.now() - timedelta(hours=1))
    response = client.get("/readyz")
    assert check_problem(response, 503)["errors"][0]["field"] == "queue"
    assert response["Retry-After"] == "5"


def test_readyz_returns_503_without_free_disk_space(client, db, settings):
    settings.READY_FREE_MB = 10**9
    assert check_problem(client.get("/readyz"), 503)["errors"][0]["field"] == "disk"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_are_not_redirected_to_https(path, db, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get(path).status_code == 200
    assert Client().get("/login/").status_code == 301


def test_metrics_are_counted_from_the_rows(client, site):
    make_packet(site, make_user(), FILED, None)
    seen = parse_metrics(client.get("/metrics"))
    assert seen["siteledger_documents", "ARCHIVED"] == 1
    assert seen["siteledger_documents", "RECEIVED"] == 1
    assert seen["siteledger_documents", "HELD"] == 0
    assert seen["siteledger_batches", "QUEUED"] == 1
    assert seen["siteledger_chunks", "RUNNING"] == 1
    assert seen["siteledger_portals_down",] == 0
    assert seen["siteledger_ledger_entries_total",] == get_last_entry()[0]
    assert seen["siteledger_disk_free_bytes", "archive"] > 0


def test_held_documents_are_counted_with_the_attributes_of_their_code(client, site):
    hold(site, code="PORTAL_UNAVAILABLE")
    seen = parse_metrics(client.get("/metrics"))
    labels = ("PORTAL_UNAVAILABLE", "transport", "major", "portal", "true")
    (counted,) = [each for each in seen if each[0] == "siteledger_held"]
    assert set(counted[1:]) == set(labels)
    assert seen[counted] == seen["siteledger_unfiled_documents", "portal"] == 1
    assert seen["siteledger_unfiled_documents", "site"] == 0


def test_the_verdict_metric_is_the_exit_code_of_verify_audit(client, db, monkeypatch):
    def verdict():
        seen = parse_metrics(client.get("/metrics"))
        return seen["siteledger_ledger_verdict",], seen["siteledger_ledger_vouched_entries",]

    assert verdict() == (2, 0)
    signer = CheckpointSigner(monkeypatch)
    write_many(3)
    runs.run_check(Mode.FULL, asked_by="system:tests")
    assert verdict() == (3, 0)
    signer.sign()
    runs.run_check(Mode.FULL, asked_by="system:tests")
    assert verdict() == (0, 3)
    with triggers_removed():
        sql("UPDATE audit_entry SET site = 'other' WHERE seq = 2")
        runs.run_check(Mode.FULL, asked_by="system:tests")
        sql("UPDATE audit_entry SET site = '' WHERE seq = 2")
    assert verdict() == (1, 0)


def test_the_age_of_the_oldest_due_work_is_a_metric(client, site):
    make_batch(site)
    Chunk.objects.update(next_dispatch_at=timezone.now() - timedelta(seconds=100))
    assert 100 <= parse_metrics(client.get("/metrics"))["siteledger_oldest_due_seconds",] < 200


def test_metrics_are_for_this_machine_and_for_operations(client, ops, site):
    assert client.get("/metrics").status_code == 200
    check_problem(client.get("/metrics", **OTHER_MACHINE), 401)
    assert ops.request("GET", "/metrics", **OTHER_MACHINE).status_code == 200
    program = Program(*make_token(TokenScope.READ, site=site))
    check_problem(program.request("GET", "/metrics", **OTHER_MACHINE), 403)


def test_behind_a_proxy_no_request_counts_as_local(client, db, settings):
    check_problem(client.get("/metrics", headers={"x-forwarded-for": "127.0.0.1"}), 401)
    settings.BEHIND_PROXY = True
    check_problem(client.get("/metrics"), 401)
