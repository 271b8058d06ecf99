"""The number of queries of a list does not depend on the number of its rows (interface.md 5.3)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.installation.filled import DOCUMENTS_PER_SITE, fill_database
from bench.sides.pages import every_page
from ingestion.operations import site_summaries

FEW, MANY = 4, 52  # sites: more than one page of them
# From fifty sites on they are added up beforehand (docs/adr/0025), and that is asked first.
BY_SUMMARIES = {"staff /figures/": 3}
BY_KEYS = 1  # more than a page of the admin's records: their keys first


def queries_of_each_page(*, warm_up):
    site_summaries.refresh_summaries()
    found = {}
    for client, who, page in every_page():
        if warm_up:  # The first request fills the caches.
            client.get(page, secure=True)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(page, secure=True).status_code == 200, page
        found[f"{who} {page.split('?')[0]}"] = len(queries)
    return found


@pytest.mark.slow
@pytest.mark.django_db
def test_the_number_of_queries_of_a_list_does_not_grow_with_its_rows():
    fill_database(FEW, 3 * FEW * DOCUMENTS_PER_SITE)
    few = queries_of_each_page(warm_up=True)
    fill_database(MANY, MANY * DOCUMENTS_PER_SITE, first=2000)
    many = queries_of_each_page(warm_up=False)
    grown = {page: n - few[page] for page, n in many.items() if page in few}
    allowed = {page: BY_SUMMARIES.get(page, BY_KEYS * ("/admin/" in page)) for page in grown}
    assert {page: more for page, more in grown.items() if more > allowed[page]} == {}
