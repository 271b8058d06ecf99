"""Reads a multipart submission: its part `packet` describes each file of the parts `files`."""

from collections.abc import Iterator
from pathlib import PurePath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from api.http import visibility
from api.http.auth import ApiRequest
from api.http.problems import Problem
from api.http.request_bodies import BYTES_PER_MEGABYTE
from api.schemas import FilesIn, FilesInV20
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.registration import UploadedDocument
from ingestion.reading.results import SUFFIXES
from sites.models import ApiToken, Site

PACKET_PART, FILES_PART = "packet", "files"
FilesByName = dict[str, list["UploadedFile[bytes]"]]  # several files of one name are a fault


def read_packet_part(request: HttpRequest) -> bytes:
    """Return the part `packet`, which curl sends as a field or, from a file, as a file.

    Raises Problem 413 or 422.
    """
    part = request.FILES.get(PACKET_PART)
    if isinstance(part, UploadedFile):
        if (part.size or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise Problem(413, f"The part `{PACKET_PART}` is too large.")
        return bytes(part.read())
    if PACKET_PART not in request.POST:
        detail = f"The part `{PACKET_PART}` is missing. It describes each file."
        raise Problem(422, detail)
    return request.POST[PACKET_PART].encode(errors="surrogatepass")


def find_site(token: ApiToken, site_id: str) -> Site:
    """Return the site of a submission. A site's token may leave it out.

    Raises SubmissionRefused.
    """
    if token.site and not site_id:
        return token.site
    site = (
        visibility.list_visible_sites(token).filter(site_id=site_id).first()
        if "\0" not in site_id
        else None
    )
    if site is None:
        message = f"there is no site {site_id!r}" if site_id else "is missing"
        raise SubmissionRefused([SubmissionFault(0, "site_id", message)])
    return site


def match_files(
    request: ApiRequest, packet: FilesIn | FilesInV20, site: Site
) -> list[UploadedDocument]:
    """Return the files with their descriptions.

    Raises Problem 413 for a file that is too large, and SubmissionRefused with all other faults:
    no file is left out silently.
    """
    files: FilesByName = {}
    for file in request.FILES.getlist(FILES_PART):
        if (file.size or 0) > settings.MAX_DOCUMENT_MB * BYTES_PER_MEGABYTE:
            raise Problem(413, f"{file.name} is larger than {settings.MAX_DOCUMENT_MB} MB.")
        files.setdefault(file.name or "", []).append(file)
    numbers = {line.corrects for line in packet.documents if line.corrects}
    own = visibility.list_visible_documents(request.auth).filter(site=site)
    corrected = own.in_bulk(numbers) if numbers else {}
    faults = [*_find_faults(packet, files), *_find_undescribed(request, packet, files)]
    for line_number, line in enumerate(packet.documents, start=1):
        if line.corrects and line.corrects not in corrected:
            message = f"the site has no document {line.corrects}"
            faults.append(SubmissionFault(line_number, "corrects", message))
    if faults:
        raise SubmissionRefused(faults)
    return [
        UploadedDocument(
            line.file,
            line.document_type,
            line.person_name,
            files[line.file][0],
            corrected.get(line.corrects or 0),
            details=line.details,
            schema_version=packet.schema_version,
        )
        for line in packet.documents
    ]


def _find_faults(packet: FilesIn | FilesInV20, files: FilesByName) -> Iterator[SubmissionFault]:
    """Yield the faults of the described files."""
    if len(packet.documents) > settings.MAX_UPLOAD_FILES:
        message = f"are more than {settings.MAX_UPLOAD_FILES} in one packet"
        yield SubmissionFault(0, "documents", message)
    for line_number, line in enumerate(packet.documents, start=1):
        message, named = "", files.get(line.file, [])
        if not named:
            message = "is the name of no file in this request"
        elif len(named) > 1:
            message = "is the name of several files in this request"
        elif PurePath(line.file).suffix.lower() not in SUFFIXES:
            message = "does not have the file name extension of a supported type"
        elif not named[0].size:
            message = "is empty"
        if message:
            yield SubmissionFault(line_number, "file", message)


def _find_undescribed(
    request: HttpRequest, packet: FilesIn | FilesInV20, files: FilesByName
) -> Iterator[SubmissionFault]:
    """Yield a fault for each part of the request that the part `packet` does not describe."""
    for name in files.keys() - {line.file for line in packet.documents}:
        yield SubmissionFault(0, FILES_PART, f"{name} is not described in `documents`")
    for part in request.FILES.keys() - {PACKET_PART, FILES_PART}:
        message = f"is not a known part; send files in parts named `{FILES_PART}`"
        yield SubmissionFault(0, part, message)
