"""Defines the sample site of browser tests, and what these tests do on several pages."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connections
from playwright.sync_api import expect

from audit import job_runs
from ingestion.dispatch.shift import work_shift
from samples.people_and_sites import SITES
from sites.models import Study
from tests.factories import make_site

SAMPLE = SITES[0]


def make_sample_site():
    """Create the site of SAMPLE with its study, so that the checks accept its sample documents."""
    site = make_site(SAMPLE.site_id)
    Study.objects.filter(pk=site.study_id).update(protocol_number=SAMPLE.study.protocol_number)
    return site


def work():
    """Run all due work in another thread, because Playwright's event loop uses this one."""
    _run_in_thread(work_shift)


def make_renditions():
    """Run the next background job in another thread, as `work` does."""
    _run_in_thread(job_runs.run_next_job)


def _run_in_thread(function):
    def run():
        try:
            function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result()


def choose(page, *files):
    """Select files as soon as the button for it is shown."""
    expect(page.get_by_role("button", name="Select files")).to_be_visible()
    for chosen in files:
        page.locator("[data-drop] input").set_input_files(chosen)


def fits(page):
    """Return whether the page does not scroll horizontally."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
