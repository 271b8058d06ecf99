"""How much a request may bring: refused by its length before it is read, a file while it comes.

Without this whoever is not even signed in could fill the disk, for Django reads a form to find its
token. Programs are bounded in `api.request_bodies`, once their token is known.
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

from web.shell.current_person import PROGRAM_PATHS, current_page_name, current_person

MEGABYTE = 1_000_000  # bytes
_NUMBER = re.compile(r"[0-9]{1,18}").fullmatch  # fits into a column of 64 bits
_RESUMABLE = {"resumable_uploads", "resumable_upload"}
_TAKE_FILES = {"upload", "correct", "draft_files"} | _RESUMABLE


def whole_number(text: str) -> int | None:
    """Return the whole number that a request parameter writes, or None if it does not write one.

    Python refuses to convert more than 4300 digits, and a database more than about 18.
    """
    return int(text) if _NUMBER(text) else None


class BoundedFile(TemporaryFileUploadHandler):
    """On disk from the first byte, and never more of it than a document may have.

    One that grows beyond is counted on and not kept: whoever takes it says how large it was.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if start + len(raw_data) <= settings.MAX_DOCUMENT_MB * MEGABYTE:
            super().receive_data_chunk(raw_data, start)
        elif self.file.tell():
            self.file.seek(0)
            self.file.truncate()


class BodyBounds:
    """Stands before the middleware that looks for a form's token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        # A body without a length is not read at all (WSGI), so that this is all of it.
        declared = request.META.get("CONTENT_LENGTH") or "0"
        if not declared.isdecimal() or request.path.startswith(PROGRAM_PATHS):
            return None
        length = whole_number(declared)
        if length is not None and length <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return None
        takes_files = current_page_name(request) in _TAKE_FILES
        if takes_files and current_person(request) is None:
            if (
                current_page_name(request) in _RESUMABLE
            ):  # a script sends these, and follows no redirect
                return HttpResponse(status=401)
            return redirect_to_login(request.get_full_path())
        whole = (settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB + 1) * MEGABYTE
        if takes_files and length is not None and length <= whole:
            return None
        return render(request, "413.html", {"is_upload": takes_files}, status=413)
