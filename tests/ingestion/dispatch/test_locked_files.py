"""Files with active content, from the upload to the rendition that a worker makes."""

import io

import pikepdf
import pytest

from audit import job_runs
from ingestion.core.renditions import RenditionKind
from ingestion.documents import downloads, renditions
from ingestion.documents.downloads import FileAccess
from ingestion.reading.pdf.active_content import find_active_content
from ingestion.storage.archive import get_archive
from tests.factories import make_user
from tests.ingestion.dispatch import test_containers
from tests.ingestion.dispatch.test_containers import LETTER, make_zip, needs_office, sample
from tests.ingestion.reading.documents import add_script, rewrite

site, send = test_containers.site, test_containers.send  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)


def make_dangerous():
    """Return a document with a script, a launch, an attached file and an XFA form."""

    def add(pdf):
        pdf.attachments["setup.exe"] = b"MZ a program"
        pdf.pages[0].AA = pikepdf.Dictionary(
            O=pikepdf.Dictionary(S=pikepdf.Name.Launch, F="cmd.exe")
        )
        field = pdf.make_indirect(pikepdf.Dictionary(FT=pikepdf.Name.Tx, T="name"))
        xfa = pdf.make_stream(b"<xdp:xdp><template><script>app.alert(1)</script></template>")
        pdf.Root.AcroForm = pikepdf.Dictionary(Fields=[field], XFA=xfa)

    return rewrite(add_script(sample("irb-approval")), add)


def test_a_worker_makes_the_pictures_of_a_file_with_all_kinds_of_active_content(send, site):
    document = send("irb.pdf", make_dangerous(), "irb-approval")
    assert (document.state, document.code) == ("IN_REVIEW", "ACTIVE_CONTENT")
    kinds = document.findings.get(code="ACTIVE_CONTENT").facts["kinds"].split()
    assert {"javascript", "launch", "embedded-file"} <= set(kinds)
    assert job_runs.run_next_job()
    coordinator = make_user("mara", sites=(site,))
    offered = downloads.choose_file(document, coordinator)
    path = get_archive().path_of(offered.sha256)
    assert find_active_content(path) == frozenset()
    with offered.open() as file, pikepdf.open(io.BytesIO(file.read())) as pictures:
        assert set(pictures.Root.keys()) == {"/Type", "/Pages"}
        assert len(pictures.pages) == document.pages


@pytest.mark.slow
def test_an_entry_with_active_content_locks_its_container(send, site):
    container = send("packet.zip", make_zip({"irb.pdf": make_dangerous()}))
    entry = container.parts.get()
    assert entry.code == "ACTIVE_CONTENT"
    assert job_runs.run_next_job()
    assert renditions.find_inert_rendition(entry)
    coordinator = make_user("mara", sites=(site,))
    assert downloads.find_access(entry, coordinator) is FileAccess.INERT
    assert downloads.find_access(container, coordinator) is FileAccess.NOTHING


@pytest.mark.slow
@needs_office
def test_pictures_of_a_document_of_a_word_processor_are_those_of_its_pdf(send, site):
    letter = LETTER[:-1] + r"{\object\objemb{\*\objdata 0105}}}"
    document = send("letter.rtf", letter.encode())
    assert document.findings.filter(code="ACTIVE_CONTENT").exists()
    while job_runs.run_next_job():
        pass
    kinds = set(document.renditions.values_list("kind", flat=True))
    assert kinds == {RenditionKind.OFFICE_PDF, RenditionKind.INERT}
    coordinator = make_user("mara", sites=(site,))
    assert downloads.choose_file(document, coordinator).rendition.kind == RenditionKind.INERT
    converted = document.renditions.get(kind=RenditionKind.OFFICE_PDF)
    with pytest.raises(FileNotFoundError):
        downloads.choose_file(document, coordinator, converted)
