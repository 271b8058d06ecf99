"""The traceability matrix: the verdict on a requirement from the outcomes of its tests."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from qualification.validation import identity, matrix, results
from qualification.validation.results import NOT_RUN, UnusableTestRecord
from tests.qualification.validation.runs import case, recorded, run

pytestmark = pytest.mark.requirement("R39")
ONE, OTHER = "tests/test_a.py::test_one", "tests/test_a.py::test_other"
MARKED = {ONE: frozenset({"R01"}), OTHER: frozenset({"R01"})}


def row(name, *runs, marked=MARKED):
    return next(
        each for each in matrix.make_matrix_rows(marked, runs) if each.requirement.id == name
    )


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        ([], NOT_RUN),
        ([case(ONE)], "passed in part"),
        ([case(ONE), case(OTHER)], "passed"),
        ([case(ONE), case(OTHER, "skipped")], "passed in part"),
        ([case(f"{ONE}[a]"), case(f"{ONE}[b]", "failed"), case(OTHER)], "FAILED"),
    ],
    ids=["none-run", "one-run", "both", "one-skipped", "one-parameter-failed"],
)
def test_the_verdict_on_a_requirement_needs_all_its_tests(cases, verdict):
    assert row("R01", recorded(*cases)).verdict == verdict


def test_a_test_that_failed_in_one_run_has_failed():
    evidence = row("R01", recorded(case(ONE)), recorded(case(ONE, "failed"))).evidence[0]
    assert (evidence.outcome, str(evidence)) == ("failed", "1 failed, 1 passed")


def test_a_requirement_without_a_test_is_open_unless_the_user_is_responsible():
    assert row("R01", marked={}).verdict == "OPEN"
    assert row("R28", marked={}).verdict == "the user's"


def test_without_installed_tests_the_matrix_uses_the_results():
    evidence = row("R05", recorded(case(f"{ONE}[a]", "passed", "R05")), marked={}).evidence
    assert [each.test for each in evidence] == [ONE]


def test_results_are_read_from_a_folder_with_their_digests(tmp_path):
    (tmp_path / "a.json").write_text(run(case(ONE)).model_dump_json())
    [found] = results.read_runs([tmp_path])
    assert found.run.tests[0].test == ONE
    assert len(found.sha256) == 64


@pytest.mark.parametrize(
    ("content", "reason"),
    [("{}", "started"), ("no JSON", "the file"), (None, "cannot be read")],
    ids=["other-json", "no-json", "no-file"],
)
def test_a_file_that_is_not_a_record_is_named(tmp_path, content, reason):
    file = tmp_path / "run.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UnusableTestRecord, match=rf"run\.json.*{reason}"):
        results.read_runs([file])


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(UnusableTestRecord, match="no results"):
        results.read_runs([tmp_path])


SMALL = """
import pytest

@pytest.fixture
def fails_at_teardown():
    yield
    raise ValueError

@pytest.mark.requirement("R01")
@pytest.mark.parametrize("n", [1, 2])
def test_one(n): ...

@pytest.mark.requirement("R02")
def test_that_fails_at_teardown(fails_at_teardown): ...

def test_that_is_skipped():
    pytest.skip()
"""


@pytest.mark.slow
def test_a_real_run_writes_a_record_for_the_matrix(tmp_path):
    (tmp_path / "test_small.py").write_text(SMALL)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = requirement(id): a row\n")
    options = ["-p", "tests.evidence", "--evidence", str(tmp_path / "new"), str(tmp_path)]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(tmp_path / "pytest.ini"), *options]
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=False, timeout=60)
    [found] = results.read_runs([tmp_path / "new"])
    outcomes = {each.id: (each.outcome, *each.requirements) for each in found.run.tests}
    assert {name.partition("::")[2]: outcome for name, outcome in outcomes.items()} == {
        "test_one[1]": ("passed", "R01"),
        "test_one[2]": ("passed", "R01"),
        "test_that_fails_at_teardown": ("failed", "R02"),
        "test_that_is_skipped": ("skipped",),
    }
    assert found.run.exit_code == 1
    assert found.run.code == identity.compute_code_digest(settings.BASE_DIR)


def test_a_change_of_one_byte_changes_the_digest_of_the_code(tmp_path):
    (tmp_path / "audit").mkdir()
    file = tmp_path / "audit" / "log.py"
    file.write_text("a")
    before = identity.compute_code_digest(tmp_path)
    file.write_text("b")
    assert identity.compute_code_digest(tmp_path) != before
    assert identity.commit_id(tmp_path) == ""
