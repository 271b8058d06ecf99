"""The chain's state, and checks that people ask for."""

import pytest
from django.db import OperationalError
from django.test import override_settings

from audit import background_jobs
from audit.ledger import queries
from audit.signing import anchors, checkpoints
from audit.signing.places.folder import FolderAnchor
from audit.verification import runs
from tests.audit.support import guards_down, sql, write
from tests.web.trail.test_timelines import text

PAGE, NOW = "/admin/audit/verify/", "/admin/audit/verify/now/"


@pytest.fixture
def signed(packet, work):
    """A checkpoint of all that is there, held in no other place."""
    checkpoints.sign_all()


def test_the_page_says_where_the_chain_ends_and_what_is_signed(affairs, signed):
    entries, head = queries.last_entry()
    shown = text(affairs.get(PAGE))
    assert head in shown
    assert f"Entries {entries}" in shown
    assert "Signed with siteledger" in shown
    assert "None outside this database" in shown


def test_without_entries_checkpoints_and_checks_the_page_says_so(affairs):
    shown = text(affairs.get(PAGE))
    assert "The audit trail has no entries yet" in shown
    assert "No checkpoint has been signed yet" in shown
    assert "Recent verifications" not in shown


def test_what_is_not_anchored_is_said_in_plain_words(affairs, signed, settings):
    with override_settings(ANCHOR_DIR=settings.AUDIT_KEY_FILE):  # no folder
        anchors.anchor_due()
    shown = text(affairs.get(PAGE))
    assert "1 checkpoint is missing from this anchor: anchor folder" in shown
    assert "exists" in shown
    assert "What to do" in shown


def test_a_check_is_asked_for_watched_and_read(affairs, work, packet):
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


def test_the_page_says_that_the_chain_stands_by_its_own_word_and_why(affairs, work, signed):
    anchors.anchor_all()
    affairs.post(NOW)
    work()
    shown = text(affairs.get(PAGE))
    assert "The audit trail is consistent, but no independent anchor confirms it." in shown
    assert "is on the same file system as" in shown
    assert "Recorded or emailed heads do not change the verdict" in shown
    assert "Consistent, not confirmed" in shown
    assert "The audit trail is intact" not in shown


def test_the_page_says_what_outside_vouches_for_the_chain(affairs, work, signed, monkeypatch):
    monkeypatch.setattr(
        FolderAnchor, "weakness", lambda _self: ""
    )  # as on a server that only appends
    anchors.anchor_all()
    affairs.post(NOW)
    work()
    size = checkpoints.latest_checkpoint().size
    shown = text(affairs.get(PAGE))
    assert "The audit trail is intact, and an independent anchor confirms it." in shown
    assert f"held the checkpoint of {size} entries when it was read" in shown


def test_a_broken_chain_is_named_with_what_to_do(affairs, work, packet):
    with guards_down():
        sql("UPDATE audit_entry SET body = replace(body, 'received', 'receive_') WHERE seq = 2")
    asked = affairs.post(NOW)
    work()
    for address in (asked.url, PAGE):
        shown = text(affairs.get(address))
        assert "The audit trail is broken" in shown
        assert "Entry 2: the line was changed" in shown
        assert "Inform QA" in shown
    with guards_down():
        sql("UPDATE audit_entry SET body = replace(body, 'receive_', 'received') WHERE seq = 2")


def test_a_check_that_failed_says_that_the_fault_is_ours(affairs, work, packet, monkeypatch):
    def gone(job):
        raise OperationalError("the database did not answer")

    asked = affairs.post(NOW)
    monkeypatch.setattr(background_jobs, "_works", {})
    background_jobs.register_kind(runs.KIND, gone)
    work()
    shown = text(affairs.get(asked.url))
    assert "The job failed. OperationalError: the database did not answer" in shown
    assert "give operations the job number" in shown


def test_qa_sees_the_chain_and_cannot_ask_for_a_check(as_role, packet):
    client = as_role("QA reviewers")
    assert "Verify now" not in text(client.get(PAGE))
    assert client.post(NOW).status_code == 403
    assert not background_jobs.latest_jobs(runs.KIND, 1)


def test_others_see_nothing_of_it(client, as_role, mara):
    assert client.get(PAGE).url == f"/login/?next={PAGE}"
    client.force_login(mara)
    assert client.get(PAGE).status_code == 403
    assert as_role("Operations").get(PAGE).status_code == 403


def test_a_check_that_never_was_is_not_there(affairs):
    assert affairs.get(f"{PAGE}7/").status_code == 404
    assert affairs.get(NOW).status_code == 405


def test_the_page_takes_as_many_queries_for_a_long_trail(
    affairs, work, signed, django_assert_max_num_queries
):
    for n in range(30):
        write(n, subject="site:1")
    affairs.post(NOW)
    work()
    with django_assert_max_num_queries(19):
        affairs.get(PAGE)
