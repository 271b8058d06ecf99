"""The validation pack and its operations, created by the command."""

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


def page_texts(file):
    return [page.get_textpage().get_text_range() for page in pdfium.PdfDocument(file)]


@pytest.fixture(scope="module")
def written(django_db_setup, django_db_blocker, tmp_path_factory):
    """A pack without operations, and the output of the command."""
    folder, output = tmp_path_factory.mktemp("written"), io.StringIO()
    results = folder / "run.json"
    results.write_text(run(case(TEST, "failed", "R05"), exit_code=1).model_dump_json())
    options = {"results": [results], "by": "Q. Lead", "without_oq": True, "stdout": output}
    with django_db_blocker.unblock(), pytest.raises(SystemExit) as raised:
        call_command("validation_report", folder / "pack", **options)
    assert raised.value.code == 1
    return folder / "pack", output.getvalue()


@pytest.mark.slow
def test_the_first_page_states_that_the_report_is_not_a_validation(written):
    first, *_ = pages = page_texts(written[0] / "validation.pdf")
    text = " ".join(first.split())
    assert "It is not a validation, and it certifies nothing" in text
    assert "by Q. Lead" in text
    assert "OTHER CODE than is installed here: run.json" in text
    assert f"Page 1 of {len(pages)}" in text
    assert "Approved" in pages[1], "there is space for signatures"


@pytest.mark.slow
def test_the_report_contains_the_digests_of_its_tables(written):
    first = page_texts(written[0] / "validation.pdf")[0]
    for name in ("matrix.csv", "iq.csv", "oq.csv", "settings.csv"):
        digest = hashlib.sha256((written[0] / name).read_bytes()).hexdigest()
        assert re.search(rf"{digest}\s+{name}", first)


@pytest.mark.slow
def test_failures_are_printed_and_listed_in_the_matrix(written):
    folder, output = written
    assert "R05 is FAILED: A trail that was altered" in output
    assert "run.json: exit code 1" in output
    [line] = [row for row in rows(folder / "matrix.csv") if row["test"] == TEST]
    assert (line["requirement"], line["verdict"], line["outcome"]) == ("R05", "FAILED", "failed")
    assert len({row["requirement"] for row in rows(folder / "matrix.csv")}) == 40


@pytest.mark.slow
def test_operations_that_were_left_out_are_reported_as_not_run(written):
    results = {(row["result"], row["observed"]) for row in rows(written[0] / "oq.csv")}
    assert results == {("not run", "left out: --without-oq")}


@pytest.mark.parametrize("is_file", [True, False], ids=["a-file", "a-full-folder"])
def test_an_existing_file_or_folder_is_not_overwritten(tmp_path, is_file):
    (tmp_path / "existing").write_text("")
    target = tmp_path / "existing" if is_file else tmp_path
    with pytest.raises(CommandError, match="not an empty folder") as refused:
        call_command("validation_report", target)
    assert refused.value.returncode == 2


def test_unreadable_results_are_named_before_anything_is_written(tmp_path):
    with pytest.raises(CommandError, match=r"none\.json cannot be read"):
        call_command("validation_report", tmp_path / "pack", results=[tmp_path / "none.json"])
    assert not (tmp_path / "pack").exists()


@pytest.fixture
def external_services(monkeypatch, tmp_path):
    """Settings of this installation that name external services."""
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


@pytest.mark.slow
@pytest.mark.usefixtures("external_services")
def test_a_sandbox_has_no_external_settings(tmp_path):
    assert Sandbox(tmp_path).find_external_settings() == []


@pytest.mark.usefixtures("external_services")
@pytest.mark.parametrize(
    "name",
    [
        "DATABASE_URL",
        pytest.param("ARCHIVE_S3_BUCKET", marks=pytest.mark.slow),
        pytest.param("SPOOL_DIR", marks=pytest.mark.slow),
    ],
)
def test_operations_do_not_run_if_a_setting_refers_to_something_outside(
    tmp_path, monkeypatch, name
):
    build = sandbox.make_environment
    real = "postgres://ledger@db.example/ledger" if name == "DATABASE_URL" else "/srv/ledger"
    monkeypatch.setattr(sandbox, "make_environment", lambda folder: build(folder) | {name: real})
    results = list(run_steps(Operation(Sandbox(tmp_path)).steps(), lambda _: None))
    assert results[0].outcome is StepOutcome.FAIL
    assert {each.outcome for each in results[1:]} == {StepOutcome.NOT_RUN}


@pytest.fixture
def temporary():
    """A folder with a short name, because it contains sockets (ingestion.E014)."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


@pytest.mark.slow
def test_the_operations_pass_and_leave_no_files(tmp_path, temporary):
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
    results = rows(target / "oq.csv")
    assert [row for row in results if row["result"] != "pass"] == []
    assert len(results) == 18
    assert not list(temporary.iterdir())
    remaining = [
        file for file in sorted(data.rglob("*")) if not file.name.endswith(("-wal", "-shm"))
    ]
    assert set(remaining) <= set(before)
