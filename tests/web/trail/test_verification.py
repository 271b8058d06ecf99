"""The status of the hash chain, and verifications that people request."""

import pytest
from django.db import OperationalError
from django.test import override_settings

from audit import background_jobs, job_runs
from audit.ledger import queries
from audit.signing import anchors, checkpoints
from audit.signing.places.folder import FolderAnchor
from audit.verification import runs
from tests.audit.support import sql, triggers_removed, write
from tests.web.trail.conftest import text

PAGE, NOW = "/admin/audit/verify/", "/admin/audit/verify/now/"


@pytest.fixture
def signed(packet, work):
    """Sign a checkpoint of all entries without an anchor."""
    checkpoints.sign_all()


def test_the_page_shows_the_end_of_the_chain_and_the_last_checkpoint(affairs, signed):
    entries, head = queries.get_last_entry()
    page = text(affairs.get(PAGE))
    assert head in page
    assert f"Entries {entries}" in page
    assert "Signed with siteledger" in page
    assert "None outside this database" in page


def test_an_empty_trail_is_explained(affairs):
    page = text(affairs.get(PAGE))
    assert "The audit trail has no entries yet" in page
    assert "No checkpoint has been signed yet" in page
    assert "Recent verifications" not in page


def test_missing_anchors_are_explained(affairs, signed, settings):
    with override_settings(ANCHOR_DIR=settings.AUDIT_KEY_FILE):  # no folder
        anchors.anchor_due()
    page = text(affairs.get(PAGE))
    assert "1 checkpoint is missing from this anchor: anchor folder" in page
    assert "exists" in page
    assert "What to do" in page


def test_a_verification_is_requested_observed_and_shown(affairs, work, packet):
    asked = affairs.post(NOW)
    page = affairs.get(asked.url)
    assert "Waiting for a worker" in text(page)
    assert "data-done" not in page.content.decode()
    etag = page.context["etag"]
    same = {"X-Fragment": "1", "If-None-Match": etag}
    assert affairs.get(asked.url, headers=same).status_code == 304
    work()
    fragment = affairs.get(asked.url, headers=same)
    assert fragment.status_code == 200
    assert "consistent, but no independent anchor confirms it" in fragment.content.decode()
    assert "data-done" in fragment.content.decode()
    assert "<html" not in fragment.content.decode()
    assert "Rafael Duarte" in text(affairs.get(PAGE))


def test_the_page_shows_that_no_independent_anchor_confirms_the_chain_and_why(
    affairs, work, signed
):
    anchors.anchor_all()
    affairs.post(NOW)
    work()
    page = text(affairs.get(PAGE))
    assert "The audit trail is consistent, but no independent anchor confirms it." in page
    assert "is on the same file system as" in page
    assert "Recorded or emailed heads do not change the verdict" in page
    assert "Consistent, not confirmed" in page
    assert "The audit trail is intact" not in page


def test_the_page_shows_which_anchor_confirms_the_chain(affairs, work, signed, monkeypatch):
    monkeypatch.setattr(
        FolderAnchor, "weakness", lambda _self: ""
    )  # as on a server that only appends
    anchors.anchor_all()
    affairs.post(NOW)
    work()
    size = checkpoints.get_latest_checkpoint().size
    page = text(affairs.get(PAGE))
    assert "The audit trail is intact, and an independent anchor confirms it." in page
    assert f"held the checkpoint of {size} entries when it was read" in page


def test_a_broken_chain_is_shown_with_advice(affairs, work, packet):
    with triggers_removed():
        sql("UPDATE audit_entry SET body = replace(body, 'received', 'receive_') WHERE seq = 2")
    asked = affairs.post(NOW)
    work()
    for address in (asked.url, PAGE):
        page = text(affairs.get(address))
        assert "The audit trail is broken" in page
        assert "Entry 2: the line was changed" in page
        assert "Inform QA" in page
    with triggers_removed():
        sql("UPDATE audit_entry SET body = replace(body, 'receive_', 'received') WHERE seq = 2")


def test_a_failed_verification_is_reported_as_an_internal_error(affairs, work, packet, monkeypatch):
    def failing(job):
        raise OperationalError("the database did not answer")

    asked = affairs.post(NOW)
    monkeypatch.setattr(job_runs, "_kinds", {})
    job_runs.register_kind(runs.KIND, failing)
    work()
    page = text(affairs.get(asked.url))
    assert "The job failed. OperationalError: the database did not answer" in page
    assert "give operations the job number" in page


def test_qa_can_see_the_chain_and_cannot_request_a_verification(as_role, packet):
    client = as_role("QA reviewers")
    assert "Verify now" not in text(client.get(PAGE))
    assert client.post(NOW).status_code == 403
    assert not background_jobs.list_latest_jobs(runs.KIND, 1)


def test_other_roles_cannot_see_the_chain(client, as_role, mara):
    assert client.get(PAGE).url == f"/login/?next={PAGE}"
    client.force_login(mara)
    assert client.get(PAGE).status_code == 403
    assert as_role("Operations").get(PAGE).status_code == 403


def test_a_verification_that_does_not_exist_is_not_found(affairs):
    assert affairs.get(f"{PAGE}7/").status_code == 404
    assert affairs.get(NOW).status_code == 405


def test_the_number_of_queries_does_not_grow_with_the_trail(
    affairs, work, signed, django_assert_max_num_queries
):
    for n in range(30):
        write(n, subject="site:1")
    affairs.post(NOW)
    work()
    with django_assert_max_num_queries(19):
        affairs.get(PAGE)
