"""Does each requirement have its proof, and each mark its requirement?"""

from pathlib import Path

import pytest

from qualification.validation.marks import requirements_of_tests
from qualification.validation.requirements import REQUIREMENTS, Responsible

pytestmark = pytest.mark.requirement("R39")
TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def named():
    return requirements_of_tests(TESTS)


def test_the_table_is_whole_and_in_order():
    assert list(REQUIREMENTS) == [f"R{number:02}" for number in range(1, 41)]
    assert all(row.asks.endswith(".") and row.sources for row in REQUIREMENTS.values())


def test_every_mark_names_a_row_of_the_table(named):
    strangers = {
        test: rows - set(REQUIREMENTS) for test, rows in named.items() if rows - set(REQUIREMENTS)
    }
    assert strangers == {}


def test_a_row_that_is_ours_has_a_test_or_says_why_there_is_none(named):
    proved = frozenset().union(*named.values())
    wanting = {
        name for name, row in REQUIREMENTS.items() if row.wants_a_test and name not in proved
    }
    assert wanting == {name for name, row in REQUIREMENTS.items() if row.open}


def test_what_is_not_the_products_alone_says_what_the_user_does():
    assert [
        name
        for name, row in REQUIREMENTS.items()
        if row.by is not Responsible.PRODUCT and not row.note
    ] == []


def test_marks_of_functions_classes_and_modules_are_seen(tmp_path):
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
    assert requirements_of_tests(tmp_path / "tests") == {
        "tests/deep/test_it.py::test_one": {"R01", "R02"},
        "tests/deep/test_it.py::TestMore::test_two": {"R01", "R03"},
    }


def test_where_no_tests_are_installed_none_are_named(tmp_path):
    assert requirements_of_tests(tmp_path / "tests") == {}
