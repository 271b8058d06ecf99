"""Help says how to scan, what happens, and what each state means."""

from ingestion.core.states import DocumentState
from web.help import STATES


def shown(client):
    return client.get("/help/").content.decode()


def test_every_state_is_explained():
    assert set(STATES) == set(DocumentState)


def test_it_says_how_to_scan_and_where_every_message_stands(signed_in, settings):
    settings.MAX_DOCUMENT_MB = 12
    page = shown(signed_in)
    assert "300 dpi" in page
    assert "up to 12 MB each" in page
    assert 'href="/help/rejections/"' in page


def test_of_mail_it_speaks_where_there_is_mail(signed_in, settings):
    assert "/account/mail/" not in shown(signed_in)
    settings.SITE_URL = "https://ledger.example.org"
    assert 'href="/account/mail/"' in shown(signed_in)
