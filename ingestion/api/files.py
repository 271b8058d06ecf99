"""A multipart submission: its part `packet` says which other part is what."""

from collections.abc import Iterator
from pathlib import PurePath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from ingestion.api import reach
from ingestion.api.problems import Problem
from ingestion.api.schemas import FileLine, FilesIn
from ingestion.originals import MEDIA_TYPES
from ingestion.register import Fault, Refused, UploadedDocument
from sites.models import ApiToken, Site

PART = "packet"


def described(request: HttpRequest) -> bytes:
    """The part `packet`; curl sends it as a field or, from a file, as a file."""
    sent = request.FILES.get(PART)
    if isinstance(sent, UploadedFile):
        if (sent.size or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise Problem(413, f"The part `{PART}` is too large.")
        return bytes(sent.read())
    if PART not in request.POST:
        raise Problem(422, f"There is no part `{PART}`: it says what each file is.")
    return request.POST[PART].encode(errors="surrogatepass")


def site_of(token: ApiToken, packet: FilesIn) -> Site:
    """The one that it names; a site's token need not name it."""
    if token.site and not packet.site_id:
        return token.site
    found = reach.sites(token).filter(site_id=packet.site_id).first()
    if found is None:
        message = f"there is no site {packet.site_id!r}" if packet.site_id else "is missing"
        raise Refused([Fault(0, "site_id", message)])
    return found


def named(request: HttpRequest, packet: FilesIn) -> list[UploadedDocument]:
    """Every file with what it is. Raises Refused; nothing is dropped without a word."""
    _refuse_large(request)
    if faults := [*_faults(request, packet), *_not_named(request, packet)]:
        raise Refused(faults)
    return [_document(request, line) for line in packet.documents]


def _document(request: HttpRequest, line: FileLine) -> UploadedDocument:
    content = _sent(request, line.file)[0]
    filename = PurePath(content.name or "").name
    return UploadedDocument(filename, line.document_type, line.person, content)


def _sent(request: HttpRequest, part: str) -> list["UploadedFile[bytes]"]:
    return list(request.FILES.getlist(part))


def _refuse_large(request: HttpRequest) -> None:
    for part in request.FILES:
        for content in _sent(request, part):
            if (content.size or 0) > settings.MAX_DOCUMENT_MB * 1_000_000:
                detail = f"{content.name} is larger than {settings.MAX_DOCUMENT_MB} MB."
                raise Problem(413, detail)


def _faults(request: HttpRequest, packet: FilesIn) -> Iterator[Fault]:
    if len(packet.documents) > settings.MAX_UPLOAD_FILES:
        yield Fault(0, "documents", f"are more than {settings.MAX_UPLOAD_FILES} in one packet")
    for number, line in enumerate(packet.documents, start=1):
        if message := _unacceptable(_sent(request, line.file)):
            yield Fault(number, "file", message)


def _unacceptable(sent: list["UploadedFile[bytes]"]) -> str:
    if not sent:
        return "names no part of this request that is a file"
    if len(sent) > 1:
        return "names several parts of this request"
    if PurePath(sent[0].name or "").suffix.lower() not in MEDIA_TYPES:
        return "is not a PDF or a scan by its name"
    return "" if sent[0].size else "is empty"


def _not_named(request: HttpRequest, packet: FilesIn) -> Iterator[Fault]:
    known = {line.file for line in packet.documents} | {PART}
    for part in request.FILES:
        if part not in known:
            yield Fault(0, part, "is a file that `documents` does not name")
