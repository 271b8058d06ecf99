"""Each page in each of its states meets WCAG 2.2 AA, light and dark, wide and at 320 px.

The objects are created once, and one test checks all pages and reports all problems at its end.
One page in eight is checked in every run. The others, other states, the dark theme, and the
lists and forms of the admin are `slow`.
"""

import zlib
from urllib.parse import urlsplit

import pytest
from django.urls import resolve
from playwright.sync_api import TimeoutError  # noqa: A004 - its own

from tests.browser import axe, pages
from tests.browser.pages import Page
from tests.browser.world import World, people

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(900),
]
WIDE, NARROW = {"width": 1200, "height": 900}, {"width": 320, "height": 640}
QUICK_SHARE = 8  # one page in so many is checked in every run
IS_WIDER = "document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth"
OPEN_ALL = "document.querySelectorAll('details').forEach(each => { each.open = true; })"


def _nothing(tab) -> None:
    """Do nothing: most pages are checked as they open."""


class PageChecker:
    """The pages that were checked, and their problems."""

    def __init__(self, *, at_everything: bool) -> None:
        self.seen: set[str] = set()  # names of addresses
        self.wrong: list[str] = []
        self._at_everything = at_everything
        self._refusals: set[str] = set()

    def at(self, tab, page: Page, who: str, names: dict) -> None:
        address = page.address.format(**names)
        if not (self._at_everything or self._is_new(address, page)):
            return
        tab.set_viewport_size(WIDE)
        tab.emulate_media(color_scheme="light", reduced_motion="reduce")
        answer = tab.goto(address)
        if page.status and answer.status != page.status:
            self.wrong.append(f"{who}, {page}: {answer.status}")
        if answer.status == 403 and not page.status and self._is_known(tab):
            self._note(tab)
            return
        self._do(page, tab, who)
        if answer.status != 404:
            self._note(tab)
        self._see(tab, f"{who}, {page}")

    def _is_new(self, address: str, page: Page) -> bool:
        if page.deed or page.status not in {0, 200}:
            return bool(page.leads)
        name = resolve(urlsplit(address).path).view_name
        if page.is_alike:
            self.seen.add(name)
        return name not in self.seen and zlib.crc32(name.encode()) % QUICK_SHARE == 0

    def _do(self, page: Page, tab, who: str) -> None:
        try:
            (page.deed or _nothing)(tab)
        except TimeoutError as error:
            self.wrong.append(f"{who}, {page}: {error}")

    def _see(self, tab, where: str) -> None:
        tab.evaluate(OPEN_ALL)
        self._faults(tab, f"{where}, light")
        tab.set_viewport_size(NARROW)
        if self._at_everything:
            tab.emulate_media(color_scheme="dark", reduced_motion="reduce")
            self._faults(tab, f"{where}, dark at 320")
        if tab.evaluate(IS_WIDER):
            self.wrong.append(f"{where}: scrolls sideways")

    def _is_known(self, tab) -> bool:
        """Return whether this page of a refusal was checked before."""
        heading = tab.locator("h1").first.inner_text()
        is_known = heading in self._refusals
        self._refusals.add(heading)
        return is_known

    def _note(self, tab) -> None:
        self.seen.add(resolve(urlsplit(tab.url).path).view_name)

    def _faults(self, tab, where: str) -> None:
        self.wrong += [f"{where}: {fault}" for fault in axe.faults(tab)]


@pytest.fixture
def _own(settings, tmp_path):
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR, settings.EXPORT_DIR = tmp_path / "anchors", tmp_path / "exports"
    settings.GUESS_SECONDS = 0  # detection takes seconds, and only its own tests need it


@pytest.mark.usefixtures("_own")
def test_every_page_is_accessible(open_page, signed_in, tmp_path):
    checker = PageChecker(at_everything=False)
    check_pages(checker, open_page, signed_in, World(people(), tmp_path))
    assert not checker.wrong, "\n".join(checker.wrong)


@pytest.mark.slow
@pytest.mark.usefixtures("_own")
def test_every_page_is_accessible_in_each_state_and_theme(open_page, signed_in, tmp_path):
    checker, found = PageChecker(at_everything=True), people()
    for who, addresses in pages.BEFORE_ANYTHING.items():
        tab = signed_in(found[who])
        for address in addresses:
            checker.at(tab, Page(address), f"{who}, before anything", {})
    world = World(found, tmp_path)
    tab, who = check_pages(checker, open_page, signed_in, world)
    for page in pages.of_the_admin():
        checker.at(tab, page, who, world.names)
    assert not checker.wrong, "\n".join(checker.wrong)
    missed = {
        name for name in pages.names() - checker.seen if not name.startswith(pages.NO_SECTIONS)
    }
    assert sorted(missed - set(pages.NO_PAGES)) == []
    assert sorted(set(pages.NO_PAGES) - pages.names()) == []


def check_pages(checker, open_page, signed_in, world):
    """Check all pages but those of the admin. Return the last tab and who is signed in there."""
    tab = open_page()
    for page in pages.SIGNED_OUT:
        tab.context.clear_cookies()
        checker.at(tab, page, "nobody", {})
    for who, own in pages.WITH_EVERYTHING.items():
        tab = signed_in(world.people[who])
        for page in own:
            checker.at(tab, page, who, world.names)
    return tab, who
