"""Tests of the quotas for files that are not submitted yet."""

import hashlib
import uuid

import pytest
from django.core.files.base import ContentFile

from ingestion.intake import drafts, open_packets, quotas, upload_sessions
from ingestion.intake.open_packets import DeclaredFile
from ingestion.models import DraftFile, Upload
from ingestion.storage import spool
from sites.models import Site
from tests.factories import make_filed, make_site, make_user

pytestmark = pytest.mark.django_db
GIGABYTE = 1_000_000_000


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path / "spool"
    settings.ARCHIVE_DIR = tmp_path / "archive"
    settings.READY_FREE_MB = 1
    settings.OPEN_UPLOADS, settings.OPEN_UPLOAD_MB, settings.OPEN_UPLOAD_MB_IN_ALL = 3, 4000, 6000


def declare(size, owner="site:0203", key=""):
    file = DeclaredFile("cv.pdf", "cv", "", hashlib.sha256(b"").hexdigest(), size)
    site = Site.objects.filter(site_id="0203").first() or make_site("0203")
    return open_packets.open_packet(
        owner=owner, key=key or uuid.uuid4().hex, site=site, priority=5, files=[file]
    )


def refusal(declaring, *arguments, **options):
    with pytest.raises(quotas.QuotaExceeded) as refused:
        declaring(*arguments, **options)
    return str(refused.value)


def test_a_token_cannot_declare_more_bytes_than_its_quota(monkeypatch):
    monkeypatch.setattr(quotas.disk_space, "get_free_bytes", lambda _setting: 10**15)
    declare(3 * GIGABYTE)
    assert "exceed 4000 MB" in refusal(declare, 2 * GIGABYTE)
    declare(GIGABYTE)


def test_a_token_has_a_limited_number_of_open_packets():
    first = declare(10, key="first")
    for _ in range(2):
        declare(10)
    assert "already have 3 unfinished uploads" in refusal(declare, 10)
    assert declare(10, key="first") == first
    open_packets.discard_packet(first)
    declare(10)


def test_all_owners_together_have_a_quota(monkeypatch):
    monkeypatch.setattr(quotas.disk_space, "get_free_bytes", lambda _setting: 10**15)
    declare(3 * GIGABYTE, owner="site:1")
    declare(3 * GIGABYTE - 100, owner="site:2")
    assert "too many unfinished uploads in SiteLedger" in refusal(declare, 1000, owner="site:3")
    mara = make_user("mara", sites=(Site.objects.get(site_id="0203"),))
    draft = drafts.begin_draft(mara, "t")
    assert "too many unfinished uploads in SiteLedger" in refusal(
        drafts.add_file, draft, "cv.pdf", ContentFile(b"x" * 200)
    )
    assert not DraftFile.objects.exists()


def test_a_person_cannot_upload_more_bytes_than_the_quota(settings):
    settings.OPEN_UPLOAD_MB = 1
    draft = drafts.begin_draft(make_user("mara"), "t")
    drafts.add_file(draft, "cv.pdf", ContentFile(b"x" * 700_000))
    assert "exceed 1 MB" in refusal(drafts.add_file, draft, "b.pdf", ContentFile(b"y" * 700_000))
    drafts.remove_file(draft, draft.files.get().pk)
    drafts.add_file(draft, "b.pdf", ContentFile(b"y" * 700_000))


def test_a_person_has_a_limited_number_of_drafts_with_files():
    site = make_site("0203")
    mara = make_user("mara", sites=(site,))
    for number in range(4):
        document = make_filed(site, f"doc-{number}", f"{number}" * 64)
        draft = drafts.begin_draft(mara, f"t{number}", document)
        if number < 3:
            drafts.add_file(draft, "cv.pdf", ContentFile(b"x%d" % number))
    assert "3 unfinished uploads" in refusal(drafts.add_file, draft, "cv.pdf", ContentFile(b"x"))


def test_an_upload_counts_with_its_whole_length_when_it_begins(settings):
    settings.OPEN_UPLOAD_MB = 1
    draft = drafts.begin_draft(make_user("mara"), "t")
    assert "exceed 1 MB" in refusal(drafts.begin_upload, draft, "cv.pdf", 2_000_000)
    assert not Upload.objects.exists()
    drafts.begin_upload(draft, "cv.pdf", 700_000)
    assert "exceed 1 MB" in refusal(drafts.begin_upload, draft, "b.pdf", 700_000)


def test_no_file_is_stored_when_the_disk_is_full(settings):
    packet = declare(1)
    upload = open_packets.begin_upload(packet, 0)
    draft = drafts.begin_draft(make_user("mara"), "t")
    settings.READY_FREE_MB = 10**9  # more than any disk has
    for attempt in (
        lambda: declare(10),
        lambda: upload_sessions.append_part(upload, 0, [b"x"]),
        lambda: drafts.add_file(draft, "cv.pdf", ContentFile(b"x")),
        lambda: drafts.begin_upload(draft, "cv.pdf", 1),
    ):
        with pytest.raises(quotas.SpoolFull):
            attempt()
    assert not list(spool.get_path("").glob("uploads/*"))
    assert Upload.objects.get().offset == 0
