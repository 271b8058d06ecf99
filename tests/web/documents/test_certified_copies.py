"""Certified copies: they are signed once and can be downloaded unchanged by their signer."""

import hashlib
import io
import json
import shutil
import subprocess
import tracemalloc
import zipfile

import pypdf
import pytest

from audit.ledger import queries
from audit.ledger.actors import Actor, drop_process
from audit.ledger.chain import compute_digest
from audit.ledger.redaction import redact_entry
from ingestion.certified_copies import certification
from ingestion.storage.archive import get_archive
from tests.audit.export.support import KEY, make_export, publish, sign
from tests.audit.support import sql, triggers_removed
from tests.docs.pages import ROOT, find_blocks
from tests.factories import make_user
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
)

pytestmark = pytest.mark.requirement("R29")
CONTENT = b"%PDF-1.7 the approval, as it came"
WHY = "The inspector of 12 May asks for it."


@pytest.fixture
def document(site, mara, tmp_path):
    """Return a filed document with its bytes."""
    packet = make_packet(site, mara, FILED, content=CONTENT)
    document = packet.documents.get()
    (tmp_path / "incoming").write_bytes(CONTENT)
    get_archive().put(tmp_path / "incoming", document.sha256)
    return document


def page_of(document):
    return f"/documents/{document.pk}/copies/"


def given(**fields):
    return {"reason": WHY, "username": "mara", "password": "correct horse", **fields}


def certified(document):
    return [e for e in queries.list_entries(document.subject) if e.event == "document.certified"]


def fetched(client, document):
    """Return the bytes of the newest copy."""
    answer = client.get(f"{page_of(document)}{certified(document)[-1].seq}/")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def opened(content):
    package = zipfile.ZipFile(io.BytesIO(content))
    assert package.testzip() is None
    return {info.filename: package.read(info) for info in package.infolist()}


def printed(files):
    pages = pypdf.PdfReader(io.BytesIO(files["certificate.pdf"])).pages
    return "".join("".join(page.extract_text() for page in pages).split())


def damage(document, content=b"%PDF-1.7 something else"):
    path = get_archive().path_of(document.sha256)
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(0o444)


def alarms(document):
    return [(entry.event, drop_process(entry.actor)) for entry in
            queries.list_entries(f"file:{document.sha256}")]  # fmt: skip


@pytest.fixture
def files(signed_in, document):
    """Sign a copy, and return the files in its package."""
    assert signed_in.post(page_of(document), given()).status_code == 302
    return opened(fetched(signed_in, document))


def test_the_package_contains_the_unchanged_original_under_its_own_name(files, document):
    assert files["original/irb-approval.pdf"] == CONTENT
    with get_archive().open(document.sha256) as kept:
        assert kept.read() == CONTENT


@pytest.mark.requirement("R25")
@pytest.mark.requirement("R26")
def test_the_ledger_records_name_time_meaning_reason_and_checksum_of_the_signature(files, document):
    (entry,) = certified(document)
    assert (entry.sha256, entry.role) == (hashlib.sha256(CONTENT).hexdigest(), "site coordinator")
    assert entry.detail["printed_name"] == "Mara Lindqvist"
    assert entry.detail["meaning"] == "I certify that this is an exact copy of the original."
    assert entry.detail["reason"] == WHY
    assert entry.detail["document"]["received"].endswith("Z")


@pytest.mark.requirement("R25")
def test_the_certificate_states_what_was_certified_by_whom_and_why(files, document):
    (entry,) = certified(document)
    certificate = printed(files)
    for part in (
        "MaraLindqvist",
        "Icertifythatthisisanexactcopyoftheoriginal.",
        "".join(WHY.split()),
        f"{entry.occurred_at:%Y-%m-%d%H:%M:%S}UTC",
        "0203,St.Brigid'sHospital,Ireland",
        "SLX-301",
        "irb-approval.pdf",
        f"no.{entry.seq}",
        entry.hash,
    ):
        assert part in certificate
    assert certificate.count(document.sha256) == 3, "as filed, in the archive, and read back"
    for name in ("trail.ndjson", "document.json"):
        assert hashlib.sha256(files[name]).hexdigest() in certificate


@pytest.mark.requirement("R12")
def test_the_certificate_states_whether_the_document_changed_since_its_arrival(
    signed_in, document, site, mara, files
):
    assert "Sincefirstreceivednotchanged" in printed(files)
    later = make_packet(site, mara, FILED, kinds=(document.doc_id,)).documents.get()
    assert later.sha256 != document.sha256
    came = queries.list_entries(later.subject)[0].seq
    signed_in.post(page_of(document), given())
    certificate = printed(opened(fetched(signed_in, document)))
    assert f"SincefirstreceivedCHANGEDbyentry{came}Original" in certificate


def test_shell_commands_find_the_checksums_of_the_copy_and_its_entry_in_an_export(
    files, settings, tmp_path
):
    """The commands are those of docs/audit-format.md."""
    publish(settings, tmp_path / "anchors")
    sign()
    package, copy = make_export(tmp_path / "export"), tmp_path / "copy"
    for name, content in files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(content)
    shutil.copy(package / "verify_trail.py", copy)
    output = in_the_shell(copy, package)
    assert hashlib.sha256(CONTENT).hexdigest() in output
    assert compute_digest(files["trail.ndjson"].decode().splitlines()[-1]) in output
    assert "COMPLETE: entries 1 to" in output
    assert "Confirmed by --known: entries up to" in output
    changed = files["trail.ndjson"].replace(b"site coordinator", b"Site coordinator")
    (copy / "trail.ndjson").write_bytes(changed)
    assert "COMPLETE:" not in in_the_shell(copy, package)


def in_the_shell(folder, package):
    (block,) = (b for b in find_blocks(ROOT / "docs" / "audit-format.md") if "original/*" in b.text)
    return subprocess.run(
        ["sh", "-c", block.text], cwd=folder, capture_output=True, text=True, check=False,
        env={"EXPORT": str(package), "KEY": KEY.verifier.text, "PATH": "/usr/bin:/bin"},
    ).stdout  # fmt: skip


def test_the_trail_in_the_package_ends_with_the_certification(files, document):
    lines = files["trail.ndjson"].decode().splitlines()
    entries = queries.list_entries(document.subject)
    assert [compute_digest(line) for line in lines] == [
        entry.hash for entry in entries[: len(lines)]
    ]
    assert compute_digest(lines[-1]) == certified(document)[0].hash
    assert json.loads(lines[0])["event"] == "document.received"


def test_the_package_contains_the_data_of_the_document(files, document):
    known = json.loads(files["document.json"])
    assert (known["site"], known["doc_id"]) == ("0203", document.doc_id)
    assert (known["sha256"], known["size"]) == (document.sha256, len(CONTENT))


def test_the_same_signature_produces_the_same_bytes_after_names_have_changed(
    signed_in, document, site
):
    signed_in.post(page_of(document), given())
    first = fetched(signed_in, document)
    site.name = "Another Person's Hospital"
    site.save()
    assert fetched(signed_in, document) == first
    at = certified(document)[0].occurred_at
    with zipfile.ZipFile(io.BytesIO(first)) as package:  # which counts in steps of two seconds
        dates = {info.date_time for info in package.infolist()}
    assert dates == {at.replace(second=at.second // 2 * 2).timetuple()[:6]}


@pytest.mark.requirement("R07")
def test_every_download_of_a_copy_is_recorded(signed_in, document):
    signed_in.post(page_of(document), given())
    for _ in range(2):
        fetched(signed_in, document)
    seq = certified(document)[0].seq
    taken = queries.list_entries(document.subject)[-2:]
    assert [entry.event for entry in taken] == ["document.downloaded"] * 2
    assert {entry.detail["certified_by_entry"] for entry in taken} == {seq}


def test_the_page_lists_only_the_copies_that_the_person_signed(client, document, site, mara):
    for person in (mara, make_user("otto", sites=(site,))):
        client.force_login(person)
        why = f"Needed by {person.username}, today."
        client.post(page_of(document), given(username=person.username, reason=why))
    page = client.get(page_of(document)).content.decode()
    assert "Needed by otto" in page
    assert "Needed by mara" not in page
    theirs = certified(document)[0].seq
    assert client.get(f"{page_of(document)}{theirs}/").status_code == 404


@pytest.mark.requirement("R24")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"password": "wrong horse"}, "The user name or password is incorrect"),
        ({"username": "ines"}, "The user name or password is incorrect"),
        ({"reason": " "}, "This field is required"),
        ({"reason": "because"}, "at least 10 characters"),
    ],
    ids=["password", "name", "nothing", "little"],
)
def test_a_copy_needs_a_reason_and_the_persons_own_signature(signed_in, document, wrong, message):
    before = len(queries.list_entries(document.subject))
    answer = signed_in.post(page_of(document), given(**wrong))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert message in page
    assert wrong.get("reason", WHY) in page
    assert "correct horse" not in page
    assert len(queries.list_entries(document.subject)) == before


@pytest.mark.parametrize("decided", [REJECTED, IN_REVIEW, None], ids=["rejected", "review", "new"])
def test_a_document_that_is_not_on_file_has_no_certified_copy(signed_in, site, mara, decided):
    document = make_packet(site, mara, decided).documents.get()
    page = signed_in.get(page_of(document)).content.decode()
    assert "You can certify a document that is on file only." in page
    assert "<form" not in page.partition("<main")[2]
    assert signed_in.post(page_of(document), given()).status_code == 409
    assert certified(document) == []


def test_the_page_of_a_duplicate_links_to_the_filed_document(signed_in, document, site, mara):
    duplicate = make_packet(site, mara, FILED, content=CONTENT).documents.get()
    assert duplicate.state == "DEDUPED"
    page = signed_in.get(page_of(duplicate)).content.decode()
    assert f'href="{page_of(document)}"' in page
    assert signed_in.post(page_of(duplicate), given()).status_code == 409


def test_bytes_that_differ_from_the_filed_ones_are_not_certified_and_this_is_recorded(
    signed_in, document
):
    damage(document)
    answer = signed_in.post(page_of(document), given())
    assert answer.status_code == 503
    assert "its SHA-256 checksum differs" in answer.content.decode()
    assert certified(document) == []
    assert alarms(document) == [("archive.file_changed", "system:certified_copy")]


def test_bytes_that_changed_after_the_certification_are_not_sent(signed_in, document):
    signed_in.post(page_of(document), given())
    damage(document)
    answer = signed_in.get(f"{page_of(document)}{certified(document)[0].seq}/")
    assert answer.status_code == 503
    assert alarms(document) == [("archive.file_changed", "system:certified_copy")]
    assert queries.list_entries(document.subject)[-1].event == "document.certified"


def test_a_missing_file_is_reported_as_missing(signed_in, document):
    signed_in.post(page_of(document), given())
    get_archive().path_of(document.sha256).unlink()
    for answer in (
        signed_in.get(f"{page_of(document)}{certified(document)[0].seq}/"),
        signed_in.post(page_of(document), given()),
    ):
        assert answer.status_code == 503
        assert "The original is missing from the archive." in answer.content.decode()
    assert alarms(document) == [("archive.file_missing", "system:certified_copy")]


@pytest.mark.requirement("R05")
def test_a_changed_trail_is_not_sent_as_the_trail_of_the_document(signed_in, document):
    signed_in.post(page_of(document), given())
    signed = certified(document)[0].seq
    first = queries.list_entries(document.subject)[0].seq
    with triggers_removed():
        sql("UPDATE audit_entry SET body = body || ' ' WHERE seq = %s", first)
    answer = signed_in.get(f"{page_of(document)}{signed}/")
    assert answer.status_code == 503
    assert (
        f"Entry {first} of the document&#x27;s audit trail has been changed."
        in answer.content.decode()
    )
    with triggers_removed():
        sql("UPDATE audit_entry SET body = rtrim(body) WHERE seq = %s", first)


@pytest.mark.requirement("R38")
def test_a_signature_with_a_redacted_detail_produces_no_copy(signed_in, document, mara):
    signed_in.post(page_of(document), given())
    seq = certified(document)[0].seq
    by = {"by": Actor(mara.actor_name, "staff"), "authorised_by": mara.actor_name}
    redact_entry(seq, reason="It names a participant.", **by)
    assert signed_in.get(f"{page_of(document)}{seq}/").status_code == 404
    assert "Copies that you signed" not in signed_in.get(page_of(document)).content.decode()


def test_errors_outside_the_archive_are_not_reported_as_errors_of_the_archive(
    signed_in, document, monkeypatch
):
    signed_in.post(page_of(document), given())

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ingestion.certified_copies.certification.package.write_zip", full)
    with pytest.raises(OSError, match="No space left"):
        fetched(signed_in, document)
    assert alarms(document) == []


def test_a_large_document_is_copied_without_loading_it_into_memory(signed_in, site, mara, tmp_path):
    content = bytes(32_000_000)
    document = make_packet(site, mara, FILED, content=content).documents.get()
    (tmp_path / "incoming").write_bytes(content)
    get_archive().put(tmp_path / "incoming", document.sha256)
    signed_in.post(page_of(document), given())
    (signed,) = certification.find_certifications(document, mara.actor_name)
    tracemalloc.start()
    try:
        with (tmp_path / "copy.zip").open("w+b") as target:
            certification.write_package(target, document, signed)
        assert tracemalloc.get_traced_memory()[1] < 16_000_000
    finally:
        tracemalloc.stop()


def test_file_names_cannot_leave_the_folder_of_the_package(signed_in, document):
    type(document).objects.update(filename="../../certificate.pdf\n")
    signed_in.post(page_of(document), given())
    assert sorted(opened(fetched(signed_in, document))) == [
        "certificate.pdf",
        "document.json",
        "original/.._.._certificate.pdf_",
        "trail.ndjson",
    ]


@pytest.mark.requirement("R15")
def test_documents_of_another_site_have_no_copies(stranger, document):
    assert stranger.get(page_of(document)).status_code == 404
    assert stranger.post(page_of(document), given(username="stranger")).status_code == 404
    assert stranger.get(f"{page_of(document)}1/").status_code == 404


def test_the_document_page_links_to_its_copies(client, signed_in, document, as_staff):
    link = f'href="{page_of(document)}"'
    assert link in signed_in.get(f"/documents/{document.pk}/").content.decode()
    as_staff()
    for page in (
        f"/admin/ingestion/document/{document.pk}/change/",
        f"/admin/audit/document/{document.pk}/",
    ):
        assert link in client.get(page).content.decode()


@pytest.fixture
def as_staff(client, db):
    return lambda: client.force_login(make_user("ada", is_staff=True, is_superuser=True))
