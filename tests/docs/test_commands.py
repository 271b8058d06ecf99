"""The commands of the documentation, typed as they stand, on a real installation.

A block has to end with 0. What a session is shown to answer is compared line by line, and loosely:
numbers, hashes and what stands as `...` may be others, and lines may be left out.
"""

import re

import pytest

from tests.docs.installation import installation
from tests.docs.pages import PAGES, blocks, missing, name, session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
RUN = [page for page in PAGES if any(block.is_run_here for block in blocks(page))]
BEHIND = "---- behind "


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with installation(tmp_path_factory.mktemp("installation")) as made:
        yield made


@pytest.mark.parametrize("page", RUN, ids=name)
def test_what_stands_on_the_page_can_be_typed(home, page):
    steps = []
    for block in filter(lambda block: block.is_run_here, blocks(page)):
        if block.language == "console":
            steps += session(block)
            continue
        done = home.run(block.text)
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    script = "".join(f"{typed}\necho; echo '{BEHIND}{n}'\n" for n, (typed, _) in enumerate(steps))
    done = home.run(script)
    assert done.returncode == 0, done.stdout + done.stderr
    answers = re.split(rf"^{BEHIND}\d+$", done.stdout, flags=re.MULTILINE)
    for (typed, shown), answered in zip(steps, answers, strict=False):
        lost = missing(shown, answered.splitlines())
        assert not lost, f"{typed}\ndid not answer\n{lost}\nbut\n{answered}"
