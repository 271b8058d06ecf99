"""The description of the API opens under the content security policy."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_the_api_description_loads_only_local_files(open_page):
    page = open_page()
    page.goto("/api/v1/docs")
    page.get_by_text("Submit a packet").wait_for()
    assert page.get_by_text("/api/v1/batches/{reference}/manifest").count() >= 1
