"""The table of requirements, and the marks of tests that name them."""

from pathlib import Path

import pytest

from qualification.validation.marks import read_requirements_of_tests
from qualification.validation.requirements import REQUIREMENTS, Responsible

pytestmark = pytest.mark.requirement("R39")
TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def named():
    return read_requirements_of_tests(TESTS)


def test_the_table_is_complete_and_in_order():
    assert list(REQUIREMENTS) == [f"R{number:02}" for number in range(1, 41)]
    assert all(row.asks.endswith(".") and row.sources for row in REQUIREMENTS.values())


def test_each_mark_names_a_requirement_of_the_table(named):
    unknown = {
        test: rows - set(REQUIREMENTS) for test, rows in named.items() if rows - set(REQUIREMENTS)
    }
    assert unknown == {}


def test_a_requirement_of_the_product_has_a_test_or_a_reason_for_having_none(named):
    proved = frozenset().union(*named.values())
    unproved = {name for name, row in REQUIREMENTS.items() if row.needs_test and name not in proved}
    assert unproved == {name for name, row in REQUIREMENTS.items() if row.open}


def test_a_requirement_of_the_user_states_what_the_user_does():
    assert [
        name
        for name, row in REQUIREMENTS.items()
        if row.by is not Responsible.PRODUCT and not row.note
    ] == []


def test_marks_of_functions_classes_and_modules_are_found(tmp_path):
    folder = tmp_path / "tests" / "deep"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.django_db, pytest.mark.requirement('R01')]\n"
        "@pytest.mark.requirement('R02')\n"
        "async def test_one(): ...\n"
        "class TestMore:\n"
        "    @pytest.mark.requirement('R03')\n"
        "    def test_two(self): ...\n"
        "def helper(): ...\n"
    )
    (folder / "test_other.py").write_text("def test_without_a_mark(): ...\n")
    assert read_requirements_of_tests(tmp_path / "tests") == {
        "tests/deep/test_it.py::test_one": {"R01", "R02"},
        "tests/deep/test_it.py::TestMore::test_two": {"R01", "R03"},
    }


def test_without_installed_tests_no_marks_are_found(tmp_path):
    assert read_requirements_of_tests(tmp_path / "tests") == {}
