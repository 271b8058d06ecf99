"""What the matrix says of a requirement, from the tests that were run and those that were not."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from qualification.validation import identity, matrix, results
from qualification.validation.results import NOT_RUN, UnusableTestRecord
from tests.qualification.validation.runs import case, read, run

pytestmark = pytest.mark.requirement("R39")
ONE, OTHER = "tests/test_a.py::test_one", "tests/test_a.py::test_other"
MARKED = {ONE: frozenset({"R01"}), OTHER: frozenset({"R01"})}


def row(name, *runs, marked=MARKED):
    return next(each for each in matrix.matrix_rows(marked, runs) if each.requirement.id == name)


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
def test_a_requirement_is_as_good_as_all_its_tests(cases, verdict):
    assert row("R01", read(*cases)).verdict == verdict


def test_what_failed_on_one_database_has_failed():
    proof = row("R01", read(case(ONE)), read(case(ONE, "failed"))).proofs[0]
    assert (proof.outcome, str(proof)) == ("failed", "1 failed, 1 passed")


def test_a_requirement_without_a_test_is_open_and_the_users_is_theirs():
    assert row("R01", marked={}).verdict == "OPEN"
    assert row("R28", marked={}).verdict == "the user's"


def test_without_tests_installed_the_results_name_them():
    proofs = row("R05", read(case(f"{ONE}[a]", "passed", "R05")), marked={}).proofs
    assert [proof.test for proof in proofs] == [ONE]


def test_results_are_read_from_a_folder_with_their_sums(tmp_path):
    (tmp_path / "a.json").write_text(run(case(ONE)).model_dump_json())
    [found] = results.read_runs([tmp_path])
    assert found.run.tests[0].test == ONE
    assert len(found.sha256) == 64


@pytest.mark.parametrize(
    ("content", "why"),
    [("{}", "started"), ("no JSON", "the file"), (None, "cannot be read")],
    ids=["other-json", "no-json", "no-file"],
)
def test_a_file_that_is_no_record_of_a_run_is_named(tmp_path, content, why):
    file = tmp_path / "run.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UnusableTestRecord, match=rf"run\.json.*{why}"):
        results.read_runs([file])


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(UnusableTestRecord, match="no results"):
        results.read_runs([tmp_path])


SMALL = """
import pytest

@pytest.fixture
def falls():
    yield
    raise ValueError

@pytest.mark.requirement("R01")
@pytest.mark.parametrize("n", [1, 2])
def test_one(n): ...

@pytest.mark.requirement("R02")
def test_that_falls_at_its_end(falls): ...

def test_that_is_left_out():
    pytest.skip()
"""


def test_a_real_run_writes_what_the_matrix_reads(tmp_path):
    (tmp_path / "test_small.py").write_text(SMALL)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = requirement(id): a row\n")
    asked = ["-p", "tests.evidence", "--evidence", str(tmp_path / "new"), str(tmp_path)]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(tmp_path / "pytest.ini"), *asked]
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=False, timeout=60)
    [found] = results.read_runs([tmp_path / "new"])
    ended = {each.id: (each.outcome, *each.requirements) for each in found.run.tests}
    assert {name.partition("::")[2]: told for name, told in ended.items()} == {
        "test_one[1]": ("passed", "R01"),
        "test_one[2]": ("passed", "R01"),
        "test_that_falls_at_its_end": ("failed", "R02"),
        "test_that_is_left_out": ("skipped",),
    }
    assert found.run.exit_code == 1
    assert found.run.code == identity.code_digest(settings.BASE_DIR)


def test_one_byte_of_the_code_makes_it_another(tmp_path):
    (tmp_path / "audit").mkdir()
    file = tmp_path / "audit" / "log.py"
    file.write_text("a")
    before = identity.code_digest(tmp_path)
    file.write_text("b")
    assert identity.code_digest(tmp_path) != before
    assert identity.commit_id(tmp_path) == ""
