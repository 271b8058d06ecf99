"""Tests that a filed document, its bytes and its entries cannot be deleted."""

from datetime import date
from html import unescape

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from audit.ledger import queries
from audit.ledger.queries import EntrySearch
from audit.models import AppendOnly, Entry
from ingestion.core.errors import StorageUnavailable
from ingestion.models import Document
from ingestion.storage.archive import get_archive
from sites.models import Study
from sites.models.legal_holds import LegalHold
from tests.factories import make_site, make_user
from tests.web.scenes import FILED, make_packet

pytestmark = [pytest.mark.requirement("R14"), pytest.mark.django_db(transaction=True)]
CONTENT = b"%PDF-1.7 the approval"


@pytest.fixture
def filed(settings, tmp_path):
    """A filed document with its bytes and its extraction."""
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.STATIC_ROOT = tmp_path  # WhiteNoise warns if it does not exist
    site = make_site("0203")
    packet = make_packet(site, make_user("mara", sites=(site,)), FILED, content=CONTENT)
    document = packet.documents.get()
    (tmp_path / "incoming").write_bytes(CONTENT)
    get_archive().put(tmp_path / "incoming", document.sha256)
    yield document
    assert Document.objects.filter(pk=document.pk, state="ARCHIVED").exists()
    assert [entry.event for entry in queries.list_entries(document.subject)][:3] == [
        "document.received", "document.checking", "document.filed",
    ]  # fmt: skip
    with get_archive().open(document.sha256) as kept:
        assert kept.read() == CONTENT


def test_the_orm_cannot_delete_a_document_or_its_entries(filed):
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
def test_sql_cannot_delete_a_document_or_its_entries(filed, statement):
    values = [filed.pk] * statement.count("%s")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def test_the_archive_overwrites_no_file(filed, tmp_path):
    (tmp_path / "other").write_bytes(b"%PDF-1.7 something else")
    with pytest.raises(StorageUnavailable, match="its bytes now hash to"):
        get_archive().put(tmp_path / "other", filed.sha256)
    (stored,) = get_archive().contents(filed.sha256[:2])
    assert stored.is_sealed


ENDED = date(2026, 3, 2)
UNTIL = "Retained until 2 Mar 2051, 25 years after the end of study SLX-301."
WHY = "It was entered by mistake."
UNDELETABLE = ["document", "packet", "batch", "site", "study", "user", "entry"]
PATHS = {"site": "clinical_sites", "study": "clinical_sites", "user": "clinical_sites"}
PATHS |= {"entry": "audit"}


@pytest.fixture
def administrator(client, filed):
    user = make_user("ada", is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


@pytest.fixture
def rows(filed):
    """A row of each kind that cannot be deleted."""
    return {
        "document": filed,
        "packet": filed.packet,
        "batch": filed.batch,
        "site": filed.site,
        "study": filed.site.study,
        "user": filed.batch.submitted_by,
        "entry": Entry.objects.first(),
    }


def page_of(row):
    kind = row._meta.model_name
    return f"/admin/{PATHS.get(kind, 'ingestion')}/{kind}/{row.pk}/"


@pytest.mark.sampled(3)
@pytest.mark.requirement("R04")
@pytest.mark.parametrize("kind", UNDELETABLE)
def test_a_refused_deletion_is_explained_and_recorded(client, administrator, rows, kind):
    row = rows[kind]
    subject = f"{kind}:{row.pk}"
    Study.objects.update(ended_on=ENDED)
    for number in (1, 2):
        sent = {"post": "yes", "reason_for_change": WHY}
        answer = client.post(f"{page_of(row)}delete/", sent)
        assert answer.status_code == 403
        tried = queries.find_entries(
            EntrySearch(subjects=[subject], event=f"{kind}.deletion_refused")
        )
        assert [(each.actor, each.detail["reason"]) for each in tried] == [
            (administrator.actor_name, WHY)
        ] * number
    page = answer.content.decode()
    assert "The audit trail records your attempt" in page
    assert type(row).objects.filter(pk=row.pk).exists()
    if kind in {"document", "packet", "site", "study"}:
        assert UNTIL in page
        assert UNTIL in tried[0].detail["kept_because"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", UNDELETABLE)
def test_no_page_offers_a_deletion_that_would_be_refused(client, administrator, rows, kind):
    before = queries.get_last_entry()
    page = client.get(f"{page_of(rows[kind])}change/").content.decode()
    assert 'class="deletelink"' not in page
    answer = client.get(f"{page_of(rows[kind])}delete/")
    assert answer.status_code == 403
    assert "you tried" not in answer.content.decode()
    assert queries.get_last_entry() == before


@pytest.mark.parametrize("kind", ["site", "study"])
def test_a_legal_hold_is_named_as_the_reason(client, administrator, rows, kind):
    Study.objects.update(ended_on=date(1990, 1, 1), retention_years=1)
    LegalHold.objects.create(
        study=rows["study"], reason="A court asked for it.", set_by=administrator
    )
    answer = client.post(f"{page_of(rows[kind])}delete/", {"post": "yes"})
    page = unescape(answer.content.decode())
    assert (
        "The retention period ended on 1 Jan 1991, 1 year after the end of study SLX-301." in page
    )
    assert "overrides this date: A court asked for it." in page


@pytest.mark.parametrize("kind", ["site", "study"])
def test_a_refused_deletion_in_a_list_is_recorded(client, administrator, rows, kind):
    row = rows[kind]
    address = page_of(row).removesuffix(f"{row.pk}/")
    sent = {"action": "delete_selected", "_selected_action": [row.pk], "reason_for_change": WHY}
    page = client.post(address, sent, follow=True).content.decode()
    assert "Nothing was deleted. The audit trail records your attempt." in page
    (tried,) = queries.find_entries(
        EntrySearch(subjects=[f"{kind}:{row.pk}"], event=f"{kind}.deletion_refused")
    )
    assert tried.detail["reason"] == WHY


def test_a_row_without_references_can_be_deleted(client, administrator):
    Study.objects.create(protocol_number="MIS-TYPED")
    row = Study.objects.get(protocol_number="MIS-TYPED")
    assert 'class="deletelink"' in client.get(f"{page_of(row)}change/").content.decode()
    client.post(f"{page_of(row)}delete/", {"post": "yes", "reason_for_change": WHY})
    assert not Study.objects.filter(pk=row.pk).exists()


def test_pages_show_the_retention_of_study_document_and_packet(client, administrator, rows):
    Study.objects.update(ended_on=ENDED)
    for kind in ("document", "packet", "study"):
        assert UNTIL in client.get(f"{page_of(rows[kind])}change/").content.decode()
    assert UNTIL in client.get(f"/documents/{rows['document'].pk}/").content.decode()
    assert "2 Mar 2051" in client.get("/admin/clinical_sites/study/").content.decode()


@pytest.mark.parametrize("role", ["administrator", "staff"])
def test_a_refused_deletion_in_the_admin_names_the_person_in_the_ledger(client, filed, role):
    user = make_user("ada", is_staff=True, is_superuser=role == "administrator")
    client.force_login(user)
    address = f"/admin/ingestion/document/{filed.pk}/delete/"
    answer = client.post(address, {"post": "yes", "reason_for_change": "It is a mistake."})
    assert answer.status_code == 403
    last = queries.list_entries(filed.subject)[-1]
    if role == "administrator":
        assert "Documents and their history cannot be deleted." in answer.content.decode()
        assert (last.event, last.actor) == ("document.deletion_refused", user.actor_name)
    else:
        assert "does not have the required permission" in answer.content.decode()
        assert last.event == "document.filed"


def test_lists_in_the_admin_offer_no_deletion(client, filed):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    values = {
        "action": "delete_selected",
        "_selected_action": [filed.pk],
        "reason_for_change": "It is a mistake.",
        "post": "yes",
    }
    client.post("/admin/ingestion/document/", values)
