"""The help pages: scanning, sending, states and messages."""

from ingestion.core.states import DocumentState
from web.help import STATES


def help_page(client):
    return client.get("/help/").content.decode()


def test_the_help_page_explains_every_state():
    assert set(STATES) == set(DocumentState)


def test_the_help_page_explains_scanning_and_all_messages(signed_in, settings):
    settings.MAX_DOCUMENT_MB = 12
    page = help_page(signed_in)
    assert "300 dpi" in page
    assert "up to 12 MB each" in page
    assert 'href="/help/rejections/"' in page


def test_the_help_page_mentions_email_only_if_it_is_set_up(signed_in, settings):
    assert "/account/mail/" not in help_page(signed_in)
    settings.SITE_URL = "https://ledger.example.org"
    assert 'href="/account/mail/"' in help_page(signed_in)
