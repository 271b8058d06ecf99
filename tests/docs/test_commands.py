"""Runs the commands of the documentation on a real installation.

A block has to end with exit code 0. The output of a session is compared line by line: numbers,
hashes and `...` may differ, and lines may be left out.
"""

import re

import pytest

from tests.docs.installation import run_installation
from tests.docs.pages import PAGES, find_blocks, find_missing_line, page_name, parse_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PAGES_WITH_COMMANDS = [
    page for page in PAGES if any(block.is_run_here for block in find_blocks(page))
]
END_MARK = "---- end of output of "


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with run_installation(tmp_path_factory.mktemp("installation")) as running:
        yield running


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=page_name)
def test_the_commands_of_a_page_work_and_print_what_the_page_shows(home, page):
    steps = []
    for block in filter(lambda block: block.is_run_here, find_blocks(page)):
        if block.language == "console":
            steps += parse_session(block)
            continue
        done = home.run(block.text)
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    script = "".join(
        f"{command}\necho; echo '{END_MARK}{n}'\n" for n, (command, _) in enumerate(steps)
    )
    done = home.run(script)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = re.split(rf"^{END_MARK}\d+$", done.stdout, flags=re.MULTILINE)
    for (command, expected), output in zip(steps, outputs, strict=False):
        lacking = find_missing_line(expected, output.splitlines())
        assert not lacking, f"{command}\ndid not print\n{lacking}\nbut\n{output}"
