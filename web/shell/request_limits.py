"""Limits the size of requests: of the body before it is read, and of each file while it arrives.

Without these limits, a person who is not signed in could fill the disk, because Django reads a
whole form to find its CSRF token. `api.http.request_bodies` has the limits of the API, which apply
after the token of the program is known.
"""

import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from web.shell.current_person import PROGRAM_PATHS, get_current_page_name, get_current_person

MEGABYTE = 1_000_000  # bytes
_NUMBER = re.compile(r"[0-9]{1,18}").fullmatch  # fits into a column of 64 bits
_RESUMABLE_UPLOADS = {"resumable_uploads", "resumable_upload"}
_PAGES_WITH_FILES = {"upload", "correct", "draft_files"} | _RESUMABLE_UPLOADS


def parse_whole_number(text: str) -> int | None:
    """Return the whole number that a request parameter writes, or None if it does not write one.

    Python refuses to convert more than 4300 digits, and a database more than about 18.
    """
    return int(text) if _NUMBER(text) else None


class LimitedUploadHandler(TemporaryFileUploadHandler):
    """Writes a file to disk from the first byte, and never more than a document may have.

    If a file exceeds the limit, its bytes are counted but no longer stored, so that the view can
    report the size.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Store a chunk, or drop the file's bytes if it exceeds MAX_DOCUMENT_MB."""
        if start + len(raw_data) <= settings.MAX_DOCUMENT_MB * MEGABYTE:
            super().receive_data_chunk(raw_data, start)
        elif self.file.tell():
            self.file.seek(0)
            self.file.truncate()


class RequestBodyLimit:
    """Refuses bodies that are too long. It runs before the middleware that reads the CSRF token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Return 413 for a body that is too long, or a sign-in for an anonymous upload of files."""
        # WSGI does not read a body without Content-Length, so the header states the whole size.
        declared = request.META.get("CONTENT_LENGTH") or "0"
        if not declared.isdecimal() or request.path.startswith(PROGRAM_PATHS):
            return None
        length = parse_whole_number(declared)
        if length is not None and length <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return None
        takes_files = get_current_page_name(request) in _PAGES_WITH_FILES
        if takes_files and get_current_person(request) is None:
            if get_current_page_name(request) in _RESUMABLE_UPLOADS:
                return HttpResponse(status=401)  # scripts send these and do not follow redirects
            return redirect_to_login(request.get_full_path())
        max_packet = (settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB + 1) * MEGABYTE
        if takes_files and length is not None and length <= max_packet:
            return None
        return render(request, "413.html", {"is_upload": takes_files}, status=413)
