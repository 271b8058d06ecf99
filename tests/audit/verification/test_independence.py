"""Tests of the independence of anchors, and of what an independent anchor confirms."""

import os
import re
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.checks import run_checks

from audit.models import CheckRun, Receipt
from audit.signing import anchors, checkpoints, keys
from audit.signing.places import s3 as places_s3
from audit.signing.places.folder import FolderAnchor
from audit.verification import runs
from audit.verification.verify import Mode, Result, verify_ledger
from tests.audit.authority import Authority
from tests.audit.support import sql, write, write_many
from tests.commands import run

pytestmark = pytest.mark.requirement("R05")
MEMORY = Path("/dev/shm")  # noqa: S108 - another file system than that of the tests
NOBODY, OTHER = 65534, 1234  # user IDs


@pytest.fixture
def independent_bucket(bucket, monkeypatch):
    """Return the bucket, which counts as independent because its server seems to be remote."""
    monkeypatch.setattr(places_s3, "_is_of_this_machine", lambda _family, _address: False)
    return bucket


@pytest.fixture
def ledger(key):
    write_many(9, site="DE-014", detail={"name": "A. Berg"})
    return checkpoints.sign_all()


def policy(tmp_path, *lines, log=None):
    file = tmp_path / "policy"
    logs = [log or keys.read_published_keys()[-1].verifier.text]
    file.write_text("\n".join([*(f"log {each}" for each in logs), *lines]))
    return file


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_on_the_same_file_system_is_not_independent(ledger):
    anchors.anchor_all()
    verdict = verify_ledger()
    assert verdict.result == Result.UNANCHORED
    assert verdict.vouched_to == 0
    assert verdict.unanchored[0].startswith("No independent anchor vouches for the ledger.")
    assert "checkpoints.log is on the same file system as" in verdict.unanchored[1]


@contextmanager
def another_file_system(owner):
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == Path("/tmp").stat().st_dev:  # noqa: S108
        pytest.skip("no second file system to write to")
    with TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        (folder / "checkpoints.log").touch()
        for path in (folder, folder / "checkpoints.log"):
            os.chown(path, owner, owner)
            path.chmod(0o755)
        yield folder


@contextmanager
def as_user(user):
    """Run a block as another user, if root runs the tests."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("user", "owner", "weakness"),
    [
        (NOBODY, OTHER, ""),
        (NOBODY, NOBODY, "is owned by the same user as this installation."),
        (NOBODY, 0, "is owned by the same user as this installation."),  # as /tmp is
        (0, OTHER, "can be changed by root, and this process runs as root."),
    ],
)
def test_a_folder_on_another_file_system_needs_another_owner(user, owner, weakness):
    with another_file_system(owner) as folder, as_user(user):
        place = FolderAnchor(folder, [Path("/tmp")])  # noqa: S108
        assert place.weakness().removeprefix(f"{place.address} ") == weakness


def test_an_anchor_folder_that_cannot_be_examined_is_not_independent(tmp_path):
    with as_user(NOBODY):  # this user may not list the folders of root
        assert "cannot be examined" in FolderAnchor(tmp_path / "anchors", [Path("/")]).weakness()


# --- S3 -----------------------------------------------------------------------------------------


def test_a_locked_version_in_an_independent_bucket_confirms_the_ledger(ledger, independent_bucket):
    anchors.anchor_all()
    verdict = verify_ledger()
    assert (verdict.result, verdict.vouched_to) == (Result.INTACT, ledger.size)
    assert verdict.vouched_by == (anchors.list_configured_anchors()[1].address,)
    assert verdict.vouched_by[0].endswith(f"/{independent_bucket}")
    assert run("verify_audit", "--full")[0] == 0


def test_a_server_on_the_same_machine_is_not_independent(ledger, bucket):
    anchors.anchor_all()
    verdict = verify_ledger()
    assert verdict.result == Result.UNANCHORED
    assert any("is this machine" in each for each in verdict.unanchored)


def test_amazons_endpoint_and_an_unknown_host_are_not_this_machine(settings):
    settings.ANCHOR_S3_BUCKET = "worm"
    assert anchors.list_configured_anchors()[1].weakness() == ""
    assert anchors.list_configured_anchors()[1].address == "s3://worm"
    settings.ANCHOR_S3_ENDPOINT = "https://s3.invalid"
    settings.ANCHOR_S3_PREFIX = "ledgers/"
    assert anchors.list_configured_anchors()[1].weakness() == ""
    assert anchors.list_configured_anchors()[1].address == "https://s3.invalid/worm/ledgers"


def test_a_version_without_a_lock_confirms_nothing(ledger, independent_bucket, s3):
    key = f"{ledger.note.partition(chr(10))[0]}/{ledger.size}.checkpoint"
    s3.put_object(Bucket=independent_bucket, Key=key, Body=ledger.note.encode())
    verdict = verify_ledger()
    assert verdict.result == Result.UNANCHORED
    assert any("is not locked." in each for each in verdict.unanchored)


def test_an_unavailable_bucket_confirms_nothing_even_with_receipts(
    ledger, independent_bucket, settings
):
    anchors.anchor_all()
    settings.ANCHOR_S3_BUCKET = f"{independent_bucket}-gone"
    verdict = verify_ledger()
    assert verdict.intact
    assert verdict.result == Result.UNANCHORED
    assert any("could not be read" in each for each in verdict.unanchored)


# --- receipts and time stamps -------------------------------------------------------------------


@pytest.mark.parametrize("anchor", ["file", "s3", "rfc3161", "mail"])
def test_an_inserted_receipt_never_improves_the_verdict(ledger, anchor):
    anchors.anchor_all()
    sql(
        "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
        " SELECT size, %s, 'another', 'bm90IGEgdG9rZW4=', created_at FROM audit_checkpoint",
        anchor,
    )
    assert verify_ledger().result == Result.UNANCHORED


def test_an_inserted_time_stamp_changes_nothing(ledger, stamped):
    before = verify_ledger()
    sql(
        "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
        " SELECT size, 'rfc3161', %s, 'bm90IGEgdG9rZW4=', created_at FROM audit_checkpoint",
        stamped.address,
    )
    after = verify_ledger()
    assert (after.result, after.unconfirmed) == (before.result, before.unconfirmed)
    assert after.notices[0].startswith("The time stamp of 10 entries is ignored.")


def test_a_valid_time_stamp_is_reported_and_does_not_confirm_the_end(ledger, stamped):
    anchors.anchor_all()
    verdict = verify_ledger()
    assert verdict.result == Result.UNANCHORED
    assert verdict.notices[0].startswith("Entries 1 to 10 existed at ")


def test_a_time_stamp_of_another_authority_is_ignored(ledger, stamped, settings, tmp_path):
    anchors.anchor_all()
    settings.ANCHOR_TSA_CERTIFICATES = str(Authority(tmp_path).root)
    assert verify_ledger().notices[0].startswith("The time stamp of 10 entries is ignored.")


def test_a_time_stamp_of_another_checkpoint_is_ignored(ledger, stamped):
    anchors.anchor_all()
    write(subject="document:2")
    later = checkpoints.sign_all()
    sql(
        "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
        " SELECT %s, anchor, place, proof, anchored_at FROM audit_receipt"
        " WHERE anchor = 'rfc3161'",
        later.size,
    )
    assert Receipt.objects.filter(anchor="rfc3161").count() == 2
    confirmed, ignored = verify_ledger().notices
    assert confirmed.startswith("Entries 1 to 10 existed at ")
    assert ignored.startswith("The time stamp of 11 entries is ignored.")


# --- policies -----------------------------------------------------------------------------------


def test_verification_with_a_satisfied_policy_exits_with_0(ledger, independent_bucket, tmp_path):
    anchors.anchor_all()
    address = anchors.list_configured_anchors()[1].address
    for places in (["place s3"], [f"place {address}/"], []):
        file = policy(tmp_path, *places, "quorum none")
        assert run("verify_audit", "--policy", file)[0] == 0


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("s3://worm", "requires the place s3://worm, which is not configured here"),
        ("rfc3161", "requires the place rfc3161, which is not configured here"),
        ("file", "requires the place file, which does not vouch for the ledger"),
        ("mail", "requires the place mail, which is not configured here"),
    ],
)
def test_a_policy_with_a_missing_place_is_never_satisfied(
    ledger, independent_bucket, tmp_path, capsys, place, message
):
    anchors.anchor_all()
    file = policy(tmp_path, "place s3", f"place {place}", "quorum none")
    assert run("verify_audit", "--policy", file)[0] == 3
    assert message in capsys.readouterr().out


def test_a_policy_that_requires_time_stamps_verifies_them(
    ledger, independent_bucket, stamped, settings, tmp_path, capsys
):
    file = policy(tmp_path, "place s3", "place rfc3161", "quorum none")
    anchors.anchor_all()
    assert run("verify_audit", "--policy", file)[0] == 0
    capsys.readouterr()
    only_time_stamps = policy(tmp_path, "place rfc3161", "quorum none")
    settings.ANCHOR_S3_BUCKET = ""
    assert run("verify_audit", "--policy", only_time_stamps)[0] == 3
    assert "No independent anchor" in capsys.readouterr().out


def test_the_example_policy_in_docs_operations_md_is_valid(
    ledger, independent_bucket, settings, tmp_path
):
    anchors.anchor_all()
    page = (settings.BASE_DIR / "docs" / "operations.md").read_text()
    lines = "# trail.policy" + page.partition("```\n# trail.policy")[2].partition("```")[0]
    file = tmp_path / "trail.policy"
    file.write_text(lines)
    assert run("verify_audit", "--policy", file)[0] == 1  # its key is not the key of this ledger
    key, place = re.search(r"log (.*)\nplace (.*)\n", lines).groups()
    ours = lines.replace(key, keys.read_published_keys()[-1].verifier.text)
    file.write_text(ours.replace(place, anchors.list_configured_anchors()[1].address))
    assert run("verify_audit", "--policy", file)[0] == 0


def test_a_policy_trusts_only_its_own_keys(ledger, independent_bucket, tmp_path, capsys):
    anchors.anchor_all()
    other = "siteledger+38a6a0e0+AZAlXBOrBQTDaJbZG9qVsTUwNC0nmcIwGPE1QtDd8xvl"
    unknown = keys.load_or_create_key(tmp_path / "other" / "key.pem").verifier.text
    assert run("verify_audit", "--policy", policy(tmp_path, "quorum none", log=unknown))[0] == 1
    assert "none of the given keys signed it" in capsys.readouterr().out
    assert run("verify_audit", "--policy", policy(tmp_path, "quorum none", log=other))[0] == 2


def test_nothing_is_checked_with_an_invalid_policy(ledger, tmp_path):
    code, error = run("verify_audit", "--policy", policy(tmp_path, "quorums 2", "quorum none"))
    assert code == 2
    assert "Line 2: 'quorums' is not a line of a policy" in error
    code, error = run("verify_audit", "--policy", tmp_path / "nowhere")
    assert code == 2
    assert "nowhere cannot be read: No such file" in error


def test_the_result_of_a_check_with_a_policy_is_not_stored(ledger, tmp_path):
    run("verify_audit", "--policy", policy(tmp_path, "quorum none"))
    assert not CheckRun.objects.exists()


# --- the system check for deployments -----------------------------------------------------------


def warnings():
    return {each.id: each for each in run_checks(include_deployment_checks=True)}


def test_a_deployment_without_an_independent_anchor_has_a_warning(db):
    warning = warnings()["audit.W011"]
    assert "Only this installation itself confirms the audit trail" in warning.msg
    assert "checkpoints.log is on the same file system" in warning.msg
    assert "ANCHOR_S3_BUCKET" in warning.hint
    assert "audit.W011" not in {each.id for each in run_checks()}


def test_a_deployment_with_an_independent_anchor_has_no_warning(db, independent_bucket):
    assert "audit.W011" not in warnings()


def test_a_check_is_stored_with_the_number_of_confirmed_entries(ledger, independent_bucket):
    anchors.anchor_all()
    _, stored = runs.run_check(Mode.FULL, asked_by="system:command")
    assert (stored.result, stored.vouched_to, stored.entries_read) == ("intact", 10, 10)
