"""A filed document, its bytes and its entries: nobody deletes them by the doors that there are."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from audit import history
from audit.models import AppendOnly, Entry
from ingestion.archive import archive
from ingestion.models import Document
from tests.factories import make_site, make_user
from tests.ingestion.web.scenes import FILED, make_packet

pytestmark = [pytest.mark.requirement("R14"), pytest.mark.django_db(transaction=True)]
CONTENT = b"%PDF-1.7 the approval"


@pytest.fixture
def filed(settings, tmp_path):
    """With its bytes, and with what was read of it, which every filed document has."""
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.STATIC_ROOT = tmp_path  # WhiteNoise walks through it, and warns without it
    site = make_site("0203")
    packet = make_packet(site, make_user("mara", sites=(site,)), FILED, content=CONTENT)
    document = packet.documents.get()
    (tmp_path / "incoming").write_bytes(CONTENT)
    archive().put(tmp_path / "incoming", document.sha256)
    yield document
    assert Document.objects.filter(pk=document.pk, state="ARCHIVED").exists()
    assert [entry.event for entry in history.timeline(document.subject)][:3] == [
        "document.received", "document.checking", "document.filed",
    ]  # fmt: skip
    with archive().open(document.sha256) as kept:
        assert kept.read() == CONTENT


def test_the_orm_deletes_neither_the_document_nor_its_entries(filed):
    with pytest.raises(ProtectedError):
        filed.delete()
    with pytest.raises(ProtectedError):
        Document.objects.filter(pk=filed.pk).delete()
    with pytest.raises(AppendOnly):
        Entry.objects.filter(subject=filed.subject).delete()
    with pytest.raises(AppendOnly):
        Entry.objects.first().delete()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ingestion_document WHERE id = %s",
        "DELETE FROM audit_entry WHERE subject = 'document:' || %s",
        "DELETE FROM audit_entrydetail WHERE entry_id >= %s - %s",
    ],
    ids=["document", "entries", "details"],
)
def test_sql_deletes_neither_the_document_nor_its_entries(filed, statement):
    values = [filed.pk] * statement.count("%s")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def test_the_archive_writes_nothing_over_what_it_holds(filed, tmp_path):
    (tmp_path / "other").write_bytes(b"%PDF-1.7 something else")
    archive().put(tmp_path / "other", filed.sha256)
    (stored,) = archive().contents(filed.sha256[:2])
    assert stored.is_sealed


@pytest.mark.parametrize("role", ["administrator", "staff"])
def test_in_the_admin_it_is_refused_with_a_sentence_and_who_tried_is_on_record(client, filed, role):
    user = make_user("ada", is_staff=True, is_superuser=role == "administrator")
    client.force_login(user)
    address = f"/admin/ingestion/document/{filed.pk}/delete/"
    answer = client.post(address, {"post": "yes", "reason_for_change": "It is a mistake."})
    assert answer.status_code == 403
    last = history.timeline(filed.subject)[-1]
    if role == "administrator":
        assert "Nobody deletes a document" in answer.content.decode()
        assert (last.event, last.actor) == ("document.deletion_refused", user.actor)
    else:
        assert "does not have the permission" in answer.content.decode()
        assert last.event == "document.filed"


def test_in_the_admin_a_list_offers_no_deletion(client, filed):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    values = {
        "action": "delete_selected",
        "_selected_action": [filed.pk],
        "reason_for_change": "It is a mistake.",
        "post": "yes",
    }
    client.post("/admin/ingestion/document/", values)
