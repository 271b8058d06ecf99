"""PDFs whose objects need no search, and that no other PDF passes as one."""

from pathlib import Path

import pikepdf
import pytest

from ingestion.reading.pdf.active_content import find_active_content
from ingestion.reading.pdf.static_pdf import is_static
from tests.ingestion.reading.documents import make_pdf, save


def script(pdf):
    return pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS="app.alert(1)")


def opens_with_a_script(pdf):
    pdf.Root.OpenAction = script(pdf)


def has_a_script_by_name(pdf):
    pdf.Root.Names = pikepdf.Dictionary(JavaScript=pikepdf.Dictionary(Names=["a", script(pdf)]))


def starts_a_program(pdf):
    pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name.Launch, F="a.exe")


def goes_to_an_attachment(pdf):
    pdf.pages[0].AA = pikepdf.Dictionary(O=pikepdf.Dictionary(S=pikepdf.Name.GoToE))


def plays_an_attachment(pdf):
    pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name.Rendition)


def has_an_attachment(pdf):
    pdf.attachments["a.txt"] = b"attached"


def has_an_associated_file(pdf):
    pdf.Root.AF = pikepdf.Array([])


def has_an_attachment_on_a_page(pdf):
    note = pikepdf.Dictionary(Subtype=pikepdf.Name.FileAttachment, Rect=[0, 0, 9, 9])
    pdf.pages[0].Annots = pikepdf.Array([pdf.make_indirect(note)])


def is_drawn_by_xfa(pdf):
    pdf.Root.AcroForm = pikepdf.Dictionary(XFA="", Fields=[])


def says_please_wait(pdf):
    pdf.Root.NeedsRendering = True


def opens_another_file(pdf):
    pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name.GoToR, D="chapter 1")


def sends_what_is_typed(pdf):
    action = pikepdf.Dictionary(S=pikepdf.Name.SubmitForm, Flags=4)
    button = pikepdf.Dictionary(FT=pikepdf.Name.Btn, T="send", A=action)
    pdf.Root.AcroForm = pikepdf.Dictionary(Fields=[pdf.make_indirect(button)])


def fetches_what_was_typed(pdf):
    pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name.ImportData)


def has_its_contents_elsewhere(pdf):
    pdf.pages[0].Contents = pdf.make_stream(b"", F="page.txt")


def is_a_film(pdf):
    note = pikepdf.Dictionary(Subtype=pikepdf.Name.RichMedia, Rect=[0, 0, 9, 9])
    pdf.pages[0].Annots = pikepdf.Array([pdf.make_indirect(note)])


def is_a_model_that_moves(pdf):
    model = pdf.make_stream(
        b"U3D", Type=pikepdf.Name("/3D"), OnInstantiate=pdf.make_stream(b"go()")
    )
    note = pikepdf.Dictionary(Subtype=pikepdf.Name("/3D"), Rect=[0, 0, 9, 9])
    note["/3DD"] = pdf.make_indirect(model)
    pdf.pages[0].Annots = pikepdf.Array([pdf.make_indirect(note)])


def is_digitally_signed(pdf):
    field = pikepdf.Dictionary(FT=pikepdf.Name.Sig, V=pikepdf.Dictionary(), T="sig")
    pdf.Root.AcroForm = pikepdf.Dictionary(Fields=[pdf.make_indirect(field)])


ACTIVE = [
    opens_with_a_script,
    has_a_script_by_name,
    starts_a_program,
    goes_to_an_attachment,
    plays_an_attachment,
    has_an_attachment,
    has_an_associated_file,
    has_an_attachment_on_a_page,
    opens_another_file,
    sends_what_is_typed,
    fetches_what_was_typed,
    has_its_contents_elsewhere,
    is_a_film,
    is_a_model_that_moves,
    is_drawn_by_xfa,
    says_please_wait,
    is_digitally_signed,
]


@pytest.fixture
def paper(tmp_path):
    return save(tmp_path, make_pdf())


def written(paper, change, **how):
    path = paper.with_name("active.pdf")
    with pikepdf.open(paper) as pdf:
        change(pdf)
        pdf.save(path, **how)
    return path


def escaped(content: bytes) -> bytes:
    """Return the content with one character of each active name as an escape."""
    for name in (b"JavaScript", b"Launch", b"GoTo", b"Rendition", b"EmbeddedFiles", b"AF", b"EF"):
        content = content.replace(b"/" + name, b"/%c#%02x%b" % (name[0], name[1], name[2:]))
    for name in (b"FileAttachment", b"XFA", b"NeedsRendering", b"Sig", b"F ", b"RichMedia"):
        content = content.replace(b"/" + name, b"/#%02X%b" % (name[0], name[1:]))
    for name in (b"SubmitForm", b"ImportData", b"OnInstantiate"):
        content = content.replace(b"/" + name, b"/%b#%02x" % (name[:-1], name[-1]))
    return content


def test_a_pdf_that_only_shows_pages_is_static(paper):
    assert is_static(paper)
    assert find_active_content(paper) == frozenset()


@pytest.mark.parametrize("change", ACTIVE)
def test_a_pdf_with_active_content_is_not_static(change, paper):
    path = written(paper, change)
    assert find_active_content(path)
    assert not is_static(path)


@pytest.mark.parametrize("change", ACTIVE)
def test_active_content_with_escaped_names_is_not_static(change, paper):
    path = written(paper, change)
    path.write_bytes(escaped(path.read_bytes()))
    assert find_active_content(path)  # qpdf rebuilds the cross-reference table, which is wrong now
    assert not is_static(path)


@pytest.mark.parametrize("change", ACTIVE)
def test_active_content_in_object_streams_is_not_static(change, paper):
    how = {"object_stream_mode": pikepdf.ObjectStreamMode.generate, "compress_streams": True}
    assert not is_static(written(paper, change, **how))


def test_escapes_in_other_names_do_not_matter(paper):
    path: Path = paper
    path.write_bytes(path.read_bytes() + b"% /F#6fnt /A#42C")
    assert is_static(path)


def test_a_large_file_is_not_scanned(paper):
    paper.write_bytes(paper.read_bytes() + b"%" * 1_000_001)
    assert not is_static(paper)
