"""Tests of rendering documents of word processors: isolation, refusal, and whose fault it is."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ingestion.reading import office
from ingestion.reading.office import (
    ConverterFault,
    check_converter,
    examine_office_file,
    find_missing_program,
    make_sandbox,
    render_office,
)
from ingestion.reading.results import MediaType, Unreadable
from tests.ingestion.reading.documents import (
    LIMITS,
    LINES,
    make_docx,
    make_package,
    read,
    save,
)

needs_office = pytest.mark.skipif(
    find_missing_program(LIMITS) is not None, reason="LibreOffice or bubblewrap is not installed"
)
ODT = "application/vnd.oasis.opendocument.text"


@needs_office
def test_a_document_is_rendered_with_its_text(tmp_path):
    path = save(tmp_path, make_docx(*LINES), "letter")
    tool = render_office(path, MediaType.DOCX, tmp_path / "letter.pdf", LIMITS)
    assert tool.startswith("LibreOffice ")
    assert all(line in read(tmp_path / "letter.pdf").text for line in LINES)


@needs_office
def test_the_program_has_no_network_and_sees_no_other_file(tmp_path):
    """The files of this installation, and its processes, are not there."""
    document = save(tmp_path, b"document", "source")
    secret = save(tmp_path, b"secret", "secret")
    work = tmp_path / "work"
    work.mkdir()
    script = f"""
        cat /in/name; echo
        cat {secret} && echo READ
        ls {Path(office.__file__).parent} && echo READ
        ls /etc/passwd /root /home /proc/{os.getpid()} && echo READ
        (echo > /dev/tcp/127.0.0.1/22) && echo CONNECTED
        tail -n +3 /proc/net/dev | grep -v lo: && echo NETWORK
        touch /in/other /usr/other /other && echo WRITTEN
        touch /work/output && echo done
    """
    command = [*make_sandbox(work, document, "name"), "/bin/bash", "-c", script]
    ended = subprocess.run(command, capture_output=True, check=False, text=True)
    assert ended.stdout.split() == ["document", "done"]
    assert (work / "output").exists()


def test_without_the_programs_the_fault_is_ours(tmp_path, monkeypatch):
    path = save(tmp_path, make_docx("text"), "letter")
    missing = replace(LIMITS, office_program=str(tmp_path / "soffice"))
    outcome = render_office(path, MediaType.DOCX, tmp_path / "out.pdf", missing)
    assert outcome == ConverterFault(
        f"LibreOffice is not installed: there is no {tmp_path / 'soffice'}"
    )
    monkeypatch.setattr(office, "BUBBLEWRAP", tmp_path / "bwrap")
    here = replace(LIMITS, office_program="/bin/true")
    outcome = render_office(path, MediaType.DOCX, tmp_path / "out.pdf", here)
    assert outcome == ConverterFault(
        f"bubblewrap is not installed: there is no {tmp_path / 'bwrap'}"
    )


@needs_office
def test_where_no_process_can_be_isolated_nothing_is_rendered(tmp_path, monkeypatch):
    """It is our fault, because a document of our own cannot be rendered either."""
    monkeypatch.setattr(office, "BUBBLEWRAP", Path("/bin/false"))
    path = save(tmp_path, make_docx("text"), "letter")
    outcome = render_office(path, MediaType.DOCX, tmp_path / "out.pdf", LIMITS)
    assert isinstance(outcome, ConverterFault)
    assert not (tmp_path / "out.pdf").exists()


@needs_office
@pytest.mark.slow
def test_a_document_that_cannot_be_rendered_is_no_fault_of_ours(tmp_path):
    content = make_docx("text").replace(b"PK\x03\x04", b"PK\x03\x05", 1)
    path = save(tmp_path, content[: len(content) // 2], "letter")
    outcome = render_office(path, MediaType.DOCX, tmp_path / "out.pdf", LIMITS)
    assert isinstance(outcome, Unreadable)
    assert outcome.code == "CONVERSION_FAILED"
    assert check_converter(tmp_path, LIMITS) is None


@pytest.mark.parametrize(
    ("members", "flags"),
    [
        ({"word/vbaProject.bin": b"x"}, {"macros"}),
        ({"word/embeddings/oleObject1.bin": b"x"}, {"embedded-file"}),
        (
            {
                "word/_rels/settings.xml.rels": '<Relationship Type="http://x/attachedTemplate" '
                'Target="http://evil.example/t.dotm" TargetMode="External"/>'
            },
            {"remote"},
        ),
        ({"Basic/Standard/Module1.xml": b"x"}, {"macros"}),
        ({"word/document.xml": b"x"}, set()),
    ],
)
def test_macros_attachments_and_linked_content_are_flagged(tmp_path, members, flags):
    path = save(tmp_path, make_package(members), "letter")
    assert examine_office_file(path, MediaType.DOCX) == flags


def test_an_object_in_rich_text_is_flagged(tmp_path):
    path = save(tmp_path, b"{\\rtf1 {\\object\\objemb{\\*\\objdata 0105}}}", "letter")
    assert examine_office_file(path, MediaType.RTF) == {"embedded-file"}


def test_an_encrypted_document_is_reported_as_encrypted(tmp_path):
    members = {"mimetype": ODT, "META-INF/manifest.xml": "<manifest:encryption-data/>"}
    path = save(tmp_path, make_package(members), "letter")
    assert examine_office_file(path, MediaType.ODT) == Unreadable("ENCRYPTED_DOCUMENT")


def test_a_document_that_unpacks_to_too_many_bytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(office, "MAX_PACKAGE_BYTES", 1_000_000)
    path = save(tmp_path, make_package({"word/document.xml": b"\0" * 2_000_000}), "letter")
    outcome = examine_office_file(path, MediaType.DOCX)
    assert outcome == Unreadable("CONVERSION_FAILED", {"reason": "it unpacks to 2,000,000 bytes"})
