"""The pack as its reader gets it, and the operations that it tells of."""

import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from django.conf import settings as configured
from django.core.management import CommandError, call_command

from qualification.sandbox import Sandbox, sandbox
from qualification.validation.operation import Operation
from qualification.validation.steps import StepOutcome, run_steps
from tests.qualification.validation.runs import case, run

pytestmark = pytest.mark.requirement("R39")
TEST = "tests/audit/ledger/test_merkle_tree.py::test_it"


def rows(file):
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))


def printed(file):
    return [page.get_textpage().get_text_range() for page in pdfium.PdfDocument(file)]


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker, tmp_path_factory):
    """A pack without operations, and what was printed."""
    folder, told = tmp_path_factory.mktemp("made"), io.StringIO()
    results = folder / "run.json"
    results.write_text(run(case(TEST, "failed", "R05"), exit_code=1).model_dump_json())
    options = {"results": [results], "by": "Q. Lead", "without_oq": True, "stdout": told}
    with django_db_blocker.unblock(), pytest.raises(SystemExit) as ended:
        call_command("validation_report", folder / "pack", **options)
    assert ended.value.code == 1
    return folder / "pack", told.getvalue()


def test_the_report_says_first_that_it_is_no_validation(made):
    first, *_ = pages = printed(made[0] / "validation.pdf")
    said = " ".join(first.split())
    assert "It is not a validation, and it certifies nothing" in said
    assert "by Q. Lead" in said
    assert "OTHER CODE than is installed here: run.json" in said
    assert f"Page 1 of {len(pages)}" in said
    assert "Approved" in pages[1], "there is room to sign"


def test_the_report_names_the_sums_of_its_tables(made):
    first = printed(made[0] / "validation.pdf")[0]
    for name in ("matrix.csv", "iq.csv", "oq.csv", "settings.csv"):
        digest = hashlib.sha256((made[0] / name).read_bytes()).hexdigest()
        assert re.search(rf"{digest}\s+{name}", first)


def test_what_failed_is_told_to_whoever_asked_and_in_the_matrix(made):
    folder, told = made
    assert "R05 is FAILED: A trail that was altered" in told
    assert "run.json: exit code 1" in told
    [line] = [row for row in rows(folder / "matrix.csv") if row["test"] == TEST]
    assert (line["requirement"], line["verdict"], line["outcome"]) == ("R05", "FAILED", "failed")
    assert len({row["requirement"] for row in rows(folder / "matrix.csv")}) == 40


def test_operations_that_were_left_out_are_told_as_not_run(made):
    told = {(row["result"], row["observed"]) for row in rows(made[0] / "oq.csv")}
    assert told == {("not run", "left out: --without-oq")}


@pytest.mark.parametrize("is_file", [True, False], ids=["a-file", "a-full-folder"])
def test_nothing_is_overwritten(tmp_path, is_file):
    (tmp_path / "there").write_text("")
    target = tmp_path / "there" if is_file else tmp_path
    with pytest.raises(CommandError, match="not an empty folder") as refused:
        call_command("validation_report", target)
    assert refused.value.returncode == 2


def test_results_that_cannot_be_read_are_named_before_anything_is_done(tmp_path):
    with pytest.raises(CommandError, match=r"none\.json cannot be read"):
        call_command("validation_report", tmp_path / "pack", results=[tmp_path / "none.json"])
    assert not (tmp_path / "pack").exists()


@pytest.fixture
def outside(monkeypatch, tmp_path):
    """Where this installation reaches."""
    secret = tmp_path / "database-url"
    secret.write_text("postgres://ledger@db.example/ledger")
    for name, value in {
        "DATABASE_URL_FILE": str(secret),
        "ARCHIVE_S3_BUCKET": "originals",
        "ANCHOR_TSA": "http://tsa.example.org",
        "DATABASE_URL": "postgres://ledger@db.example/ledger",
        "ALERT_EMAILS": "ops@example.org",
        "PORTAL_SECRET_SITE_1001": "Bearer hush",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("outside")
def test_a_sandbox_reaches_nothing_of_the_installation(tmp_path):
    assert Sandbox(tmp_path).strays() == []


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("name", ["ARCHIVE_S3_BUCKET", "DATABASE_URL", "SPOOL_DIR"])
def test_operations_are_not_done_where_a_setting_points_out_of_the_sandbox(
    tmp_path, monkeypatch, name
):
    built = sandbox.environment
    real = "postgres://ledger@db.example/ledger" if name == "DATABASE_URL" else "/srv/ledger"
    monkeypatch.setattr(sandbox, "environment", lambda folder: built(folder) | {name: real})
    taken = list(run_steps(Operation(Sandbox(tmp_path)).steps(), lambda _: None))
    assert taken[0].result is StepOutcome.FAIL
    assert {each.result for each in taken[1:]} == {StepOutcome.NOT_RUN}


@pytest.fixture
def temporary():
    """With a short name: sockets are made in it (ingestion.E014)."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


@pytest.mark.slow
def test_the_operations_work_here_and_leave_nothing_behind(tmp_path, temporary):
    data = tmp_path / "data"
    environment = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(temporary),
        "DATA_DIR": str(data),
        "DATABASE_URL": f"sqlite:///{data}/siteledger.sqlite3",
        "DEBUG": "True",
    } | {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    command = [sys.executable, str(configured.BASE_DIR / "manage.py")]
    subprocess.run([*command, "migrate", "-v0"], env=environment, check=True)
    before = sorted(data.rglob("*"))
    target = tmp_path / "pack"
    subprocess.run([*command, "validation_report", str(target)], env=environment, check=False)
    told = rows(target / "oq.csv")
    assert [row for row in told if row["result"] != "pass"] == []
    assert len(told) == 18
    assert not list(temporary.iterdir())
    kept = [file for file in sorted(data.rglob("*")) if not file.name.endswith(("-wal", "-shm"))]
    assert set(kept) <= set(before)
