"""Tests of opening containers: their entries, what is set aside, and hostile ones."""

import io
import struct
import zipfile
from email.message import EmailMessage

import pikepdf
import pytest
from PIL import Image

from ingestion.core.container_entries import find_entry_faults
from ingestion.reading.containers import message_pages
from ingestion.reading.containers.open_container import open_container
from ingestion.reading.results import MediaType, Unreadable
from tests.ingestion.reading.compound_files import make_outlook_message, write_compound_file
from tests.ingestion.reading.documents import LIMITS, make_pdf, read, save

DOCUMENT = b"%PDF-1.7 a document"


@pytest.fixture(autouse=True)
def _no_time_limit(monkeypatch):
    """Open containers in this process, which has no limit of processor time."""
    monkeypatch.setattr(
        "ingestion.reading.containers.open_container.limit_page_time", lambda _: io.StringIO()
    )


@pytest.fixture
def open_file(tmp_path):
    """`open_file(content, media_type)` returns the entries by name, or why they are refused."""

    def open_file(content, media_type):
        path = save(tmp_path, content, "container")
        opened = open_container(path, media_type, tmp_path / "entries", LIMITS)
        if isinstance(opened, Unreadable):
            assert not (tmp_path / "entries").exists()
            return opened
        assert not find_entry_faults(len(opened.entries), [e.number for e in opened.entries])
        return {entry.name: entry for entry in opened.entries}

    return open_file


def make_zip(files, method=zipfile.ZIP_DEFLATED):
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return output.getvalue()


def picture(width, height):
    output = io.BytesIO()
    Image.new("L", (width, height), 200).save(output, "PNG")
    return output.getvalue()


def refused(reason):
    return Unreadable("CONTAINER_REFUSED", {"reason": reason})


def uses(entries):
    return {name: entry.use and str(entry.use) for name, entry in entries.items()}


# --- ZIP archives ---------------------------------------------------------------------------------


def test_each_file_of_an_archive_is_an_entry_and_folders_are_none(open_file):
    files = [("a.pdf", DOCUMENT), ("folder/", b""), ("folder/b.pdf", DOCUMENT), ("empty", b"")]
    files += [("Thumbs.db", b"x"), ("__MACOSX/a.pdf", b"x"), ("folder/._b.pdf", b"x")]
    entries = open_file(make_zip(files), MediaType.ZIP)
    assert uses(entries) == {
        "a.pdf": None,
        "folder/b.pdf": None,
        "empty": "empty",
        "Thumbs.db": "system_file",
        "__MACOSX/a.pdf": "system_file",
        "folder/._b.pdf": "system_file",
    }
    assert entries["folder/b.pdf"].path.read_bytes() == DOCUMENT
    assert entries["a.pdf"].size == len(DOCUMENT)


def test_a_small_picture_is_left_to_a_person_and_a_large_one_is_a_document(open_file):
    files = [("logo.png", picture(200, 80)), ("page.png", picture(900, 1200))]
    entries = open_file(make_zip(files), MediaType.ZIP)
    assert [each.is_doubtful for each in entries.values()] == [True, False]


@pytest.mark.parametrize(
    "name", ["../a.pdf", "/etc/a.pdf", "x/../../a.pdf", "..\\a.pdf", "C:\\a.pdf", "C:/a.pdf"]
)
def test_a_name_that_leads_elsewhere_is_refused(open_file, name):
    outcome = open_file(make_zip([("ok.pdf", DOCUMENT), (name, DOCUMENT)]), MediaType.ZIP)
    assert outcome == refused("a name in it leads out of the archive")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("other", ["a.pdf", "A.PDF", "a.pdf/"])
def test_two_files_with_one_name_are_refused(open_file, other):
    outcome = open_file(make_zip([("a.pdf", DOCUMENT), (other, b"")]), MediaType.ZIP)
    assert outcome == refused("two files in it have the same name")


def test_a_link_is_refused(open_file):
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    outcome = open_file(make_zip([(link, "/etc/passwd")]), MediaType.ZIP)
    assert outcome == refused("it contains links or devices")


def test_an_encrypted_archive_is_reported_as_encrypted(open_file):
    content = bytearray(make_zip([("a.pdf", DOCUMENT)]))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert open_file(bytes(content), MediaType.ZIP) == Unreadable("ENCRYPTED_DOCUMENT")


def test_overlapping_files_are_refused(open_file):
    """Both entries of the directory name the same bytes, as in a bomb without nesting."""
    content = make_zip([("a.pdf", DOCUMENT), ("b.pdf", DOCUMENT)], zipfile.ZIP_STORED)
    first, second = (
        content.index(b"PK\x01\x02"),
        content.rindex(b"PK\x01\x02"),
    )
    changed = bytearray(content)
    changed[second + 42 : second + 46] = content[first + 42 : first + 46]
    assert open_file(bytes(changed), MediaType.ZIP) == refused("files in it overlap")


def test_a_file_that_is_larger_than_it_says_is_refused(open_file):
    content = bytearray(make_zip([("a.pdf", b"\0" * 5000)]))
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", 10)
    outcome = open_file(bytes(content), MediaType.ZIP)
    assert outcome in (
        refused("a file in it is larger than it says"),
        Unreadable("CORRUPT_DOCUMENT"),
    )


def test_an_archive_that_unpacks_to_far_more_bytes_is_refused(open_file):
    outcome = open_file(make_zip([("zeros", b"\0" * 11_000_000)]), MediaType.ZIP)
    assert outcome == refused("its files are too large when they are unpacked")


def test_an_archive_with_too_many_files_is_refused(open_file):
    files = [(f"{number}.txt", b"x") for number in range(201)]
    assert open_file(make_zip(files), MediaType.ZIP) == refused("it contains too many files")


def test_an_archive_in_another_compression_is_refused(open_file):
    content = make_zip([("a.pdf", DOCUMENT)], zipfile.ZIP_LZMA)
    outcome = open_file(content, MediaType.ZIP)
    assert outcome == refused("it is compressed in a way that we cannot read")


@pytest.mark.parametrize("content", [make_zip([]), make_zip([("Thumbs.db", b"x")])])
def test_an_archive_without_documents_is_refused(open_file, content):
    assert open_file(content, MediaType.ZIP) == refused("it contains no document")


def test_a_damaged_archive_is_reported_as_damaged(open_file):
    content = bytearray(make_zip([("a.pdf", DOCUMENT * 50)]))
    content[45] ^= 0xFF
    assert open_file(bytes(content), MediaType.ZIP) == Unreadable("CORRUPT_DOCUMENT")


def test_an_archive_whose_members_would_begin_before_it_is_damaged(open_file):
    content = make_zip([("a.pdf", DOCUMENT)])
    end = content.rindex(b"PK\x05\x06")
    (start,) = struct.unpack_from("<L", content, end + 16)  # of the table of members
    damaged = bytearray(content)
    struct.pack_into("<L", damaged, end + 16, start + 100)
    assert open_file(bytes(damaged), MediaType.ZIP) == Unreadable("CORRUPT_DOCUMENT")


# --- Email messages -------------------------------------------------------------------------------


def make_message(text="Please find the approval attached.", **headers):
    message = EmailMessage()
    message["From"], message["Subject"] = "board@irb.example", "Approval of SLX-301"
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    return message


def test_the_text_of_a_message_is_a_document_unless_it_only_accompanies_others(open_file):
    message = make_message()
    message.add_attachment(DOCUMENT, "application", "pdf", filename="irb.pdf")
    entries = open_file(message.as_bytes(), MediaType.EML)
    assert uses(entries) == {"irb.pdf": None, "message text.pdf": "covering_note"}
    assert entries["irb.pdf"].path.read_bytes() == DOCUMENT
    assert "reportlab" in entries["message text.pdf"].tool


def test_a_long_text_beside_documents_is_a_document(open_file):
    message = make_message("The board approves the study. " * 30)
    message.add_attachment(DOCUMENT, "application", "pdf", filename="irb.pdf")
    entries = open_file(message.as_bytes(), MediaType.EML)
    assert entries["message text.pdf"].use is None


def test_quoted_messages_do_not_make_a_covering_note_long(open_file):
    quoted = "\nOn Mon, 2 Mar 2026, Site wrote:\n" + "> Could you send the approval?\n" * 40
    message = make_message("Here it is." + quoted)
    message.add_attachment(DOCUMENT, "application", "pdf", filename="irb.pdf")
    entries = open_file(message.as_bytes(), MediaType.EML)
    assert uses(entries)["message text.pdf"] == "covering_note"


def test_the_text_is_printed_with_its_header_and_can_be_read(open_file, tmp_path):
    entries = open_file(make_message("Dear Dr Márquez,\nit is approved.").as_bytes(), MediaType.EML)
    reading = read(entries["message text.pdf"].path)
    assert "Subject: Approval of SLX-301" in reading.text
    assert "Dear Dr Márquez,\nit is approved." in reading.text


@pytest.mark.parametrize("text", ["承認されました", "연구 승인", "审查批准"])
def test_a_text_in_another_script_is_printed_in_its_characters(tmp_path, text):
    path = save(tmp_path, message_pages.render_message({"Subject": text}, f"{text}\nOK"))
    assert read(path).text.replace(" ", "").count(text.replace(" ", "")) == 2


def test_the_same_text_gives_the_same_bytes():
    assert message_pages.render_message({}, "text") == message_pages.render_message({}, "text")


def test_the_text_of_a_page_is_that_of_its_blocks():
    markup = "<style>p{}</style><p>One&nbsp;line</p><div>Two <b>bold</b><br>three</div>"
    assert message_pages.extract_text(markup).splitlines() == ["One line", "", "Two bold", "three"]


def test_pictures_in_the_text_are_logos_or_photos_by_their_size(open_file):
    message = make_message("text")
    message.add_alternative('<img src="cid:a@b"><img src="cid:c@d">', subtype="html")
    html = message.get_payload()[1]
    html.add_related(picture(300, 90), "image", "png", cid="<a@b>", filename="image001.png")
    html.add_related(picture(1200, 1600), "image", "png", cid="<c@d>", filename="IMG_1.png")
    entries = open_file(message.as_bytes(), MediaType.EML)
    assert entries["image001.png"].use == "small_picture"
    assert (entries["IMG_1.png"].use, entries["IMG_1.png"].is_doubtful) == (None, False)


def test_an_attached_message_is_an_entry_that_is_a_message(open_file):
    inner = make_message("The letter of the board.")
    outer = make_message("See the attached message.")
    outer.add_attachment(inner)
    entries = open_file(outer.as_bytes(), MediaType.EML)
    content = entries["attached message.eml"].path.read_bytes()
    assert b"Subject: Approval of SLX-301" in content


def test_an_encrypted_message_is_reported_as_encrypted(open_file):
    content = b"From: a@b\r\nContent-Type: application/pkcs7-mime; name=smime.p7m\r\n\r\nMIIB"
    assert open_file(content, MediaType.EML) == Unreadable("ENCRYPTED_DOCUMENT")


def test_a_message_of_many_parts_is_refused(open_file):
    parts = b"".join(b"--x\r\nContent-Type: text/csv\r\n\r\na\r\n" for _ in range(1_100))
    content = b"From: a@b\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" + parts + b"--x--"
    outcome = open_file(content, MediaType.EML)
    assert outcome in (refused("it contains too many parts"), refused("it contains too many files"))


def test_a_message_of_parts_in_parts_is_refused(open_file):
    content = b"Content-Type: text/csv\r\n\r\na"
    for level in range(40):
        content = b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n%b\r\n--b%d--" % (
            level, level, content, level,
        )  # fmt: skip
    outcome = open_file(b"From: a@b\r\n" + content, MediaType.EML)
    assert outcome == refused("it contains too many parts")


# --- Outlook messages -----------------------------------------------------------------------------


def test_a_message_of_outlook_has_its_attachments_and_its_text(open_file):
    tree = make_outlook_message("Approval", "Attached.", [("irb.pdf", DOCUMENT * 400)])
    entries = open_file(write_compound_file(tree), MediaType.MSG)
    assert uses(entries) == {"irb.pdf": None, "message text.pdf": "covering_note"}
    assert entries["irb.pdf"].path.read_bytes() == DOCUMENT * 400


def test_an_attached_message_of_outlook_is_opened_in_its_folder(open_file):
    inner = make_outlook_message("Letter", "See", [("irb.pdf", DOCUMENT)], is_embedded=True)
    tree = make_outlook_message("Fwd: Letter", "Forwarded.", [("Letter.msg", inner)])
    entries = open_file(write_compound_file(tree), MediaType.MSG)
    assert entries["Letter.msg/irb.pdf"].use is None


def test_a_text_of_outlook_in_html_is_read(open_file):
    tree = make_outlook_message("Approval", "", html=b"<p>The board has approved it.</p>")
    entries = open_file(write_compound_file(tree), MediaType.MSG)
    assert "The board has approved it." in read(entries["message text.pdf"].path).text


def test_a_text_of_outlook_that_cannot_be_read_is_left_to_a_person(open_file):
    files = [("irb.pdf", DOCUMENT)]
    tree = make_outlook_message("Approval", "", files, rich_text=b"compressed")
    text = open_file(write_compound_file(tree), MediaType.MSG)["message text.pdf"]
    assert text.use is None


@pytest.mark.parametrize("length", [600, 2_000])
def test_a_damaged_message_of_outlook_is_reported_as_damaged(open_file, length):
    content = write_compound_file(make_outlook_message("Approval", "text"))[:length]
    assert open_file(content, MediaType.MSG) == Unreadable("CORRUPT_DOCUMENT")


# --- Portfolios -----------------------------------------------------------------------------------


def test_a_portfolio_with_two_files_of_one_name_is_refused(open_file):
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(make_pdf())) as pdf:
        for key in ("1", "2"):
            pdf.attachments[key] = pikepdf.AttachedFileSpec(pdf, DOCUMENT, filename="a.pdf")
        pdf.Root.Collection = pikepdf.Dictionary(Type=pikepdf.Name.Collection)
        pdf.save(output)
    outcome = open_file(output.getvalue(), MediaType.PDF)
    assert outcome == refused("two files in it have the same name")
