"""A multipart submission: its part `packet` says what each file of its parts `files` is."""

from collections.abc import Iterator
from pathlib import PurePath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from api import visibility
from api.auth import ApiRequest
from api.problems import Problem
from api.schemas import FilesIn
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.registration import UploadedDocument
from ingestion.models import Document
from ingestion.reading.results import SUFFIXES
from sites.models import ApiToken, Site

PACKET, FILES = "packet", "files"  # the names of the parts
Sent = dict[str, list["UploadedFile[bytes]"]]  # the files of one request by their names


def described(request: HttpRequest) -> bytes:
    """The part `packet`; curl sends it as a field or, from a file, as a file."""
    sent = request.FILES.get(PACKET)
    if isinstance(sent, UploadedFile):
        if (sent.size or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise Problem(413, f"The part `{PACKET}` is too large.")
        return bytes(sent.read())
    if PACKET not in request.POST:
        raise Problem(422, f"There is no part `{PACKET}`: it says what each file is.")
    return request.POST[PACKET].encode(errors="surrogatepass")


def site_of(token: ApiToken, site_id: str) -> Site:
    """The one that it names; a site's token need not name it."""
    if token.site and not site_id:
        return token.site
    found = visibility.sites(token).filter(site_id=site_id).first() if "\0" not in site_id else None
    if found is None:
        message = f"there is no site {site_id!r}" if site_id else "is missing"
        raise SubmissionRefused([SubmissionFault(0, "site_id", message)])
    return found


def named(request: ApiRequest, packet: FilesIn, site: Site) -> list[UploadedDocument]:
    """Every file with what it is. Raises SubmissionRefused; nothing is dropped without a word."""
    sent = _by_name(request)
    corrected = _corrected(packet, site, request.auth)
    faults = [*_faults(packet, sent), *_not_described(request, packet, sent)]
    if faults := [*faults, *_not_there(packet, corrected)]:
        raise SubmissionRefused(faults)
    return [
        UploadedDocument(
            line.file,
            line.document_type,
            line.person,
            sent[line.file][0],
            corrected.get(line.corrects or 0),
        )
        for line in packet.documents
    ]


def _corrected(packet: FilesIn, site: Site, token: ApiToken) -> dict[int, Document]:
    """The documents in whose place files come, by their numbers."""
    numbers = {line.corrects for line in packet.documents if line.corrects}
    return visibility.documents(token).filter(site=site).in_bulk(numbers) if numbers else {}


def _not_there(packet: FilesIn, corrected: dict[int, Document]) -> Iterator[SubmissionFault]:
    for number, line in enumerate(packet.documents, start=1):
        if line.corrects and line.corrects not in corrected:
            yield SubmissionFault(number, "corrects", f"the site has no document {line.corrects}")


def _by_name(request: HttpRequest) -> Sent:
    sent: Sent = {}
    for content in request.FILES.getlist(FILES):
        if (content.size or 0) > settings.MAX_DOCUMENT_MB * 1_000_000:
            detail = f"{content.name} is larger than {settings.MAX_DOCUMENT_MB} MB."
            raise Problem(413, detail)
        sent.setdefault(content.name or "", []).append(content)
    return sent


def _faults(packet: FilesIn, sent: Sent) -> Iterator[SubmissionFault]:
    if len(packet.documents) > settings.MAX_UPLOAD_FILES:
        yield SubmissionFault(
            0, "documents", f"are more than {settings.MAX_UPLOAD_FILES} in one packet"
        )
    for number, line in enumerate(packet.documents, start=1):
        if message := _unacceptable(line.file, sent.get(line.file, [])):
            yield SubmissionFault(number, "file", message)


def _unacceptable(name: str, sent: list["UploadedFile[bytes]"]) -> str:
    if not sent:
        return "is the name of no file in this request"
    if len(sent) > 1:
        return "is the name of several files in this request"
    if PurePath(name).suffix.lower() not in SUFFIXES:
        return "is not a PDF or a scan by its name"
    return "" if sent[0].size else "is empty"


def _not_described(request: HttpRequest, packet: FilesIn, sent: Sent) -> Iterator[SubmissionFault]:
    described = {line.file for line in packet.documents}
    for name in sent.keys() - described:
        yield SubmissionFault(0, FILES, f"{name} is a file that `documents` does not name")
    for part in request.FILES.keys() - {PACKET, FILES}:
        yield SubmissionFault(
            0, part, f"is no part that is known here; files are parts named `{FILES}`"
        )
