"""Defines the addresses of resumable uploads: `/api/v1/uploads` and `/uploads/`.

`api.uploads.tus` implements the protocol.

Programs use `/api/v1/uploads` with a token. The upload form uses `/uploads/` with a session and its
CSRF token in the header `X-CSRFToken`. `Upload-Metadata` states the purpose of an upload: a file of
an open packet (`packet`, `number`), or a new file of the person's draft (`filename`, `token`,
`corrects`).
"""

import uuid
from collections.abc import Mapping
from typing import NoReturn

from django.http import Http404, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from api.http import auth
from api.http.auth import Bearer
from api.http.problems import Problem, make_problem_response
from api.uploads.tus import Refusal, TusUploads
from audit.change_tracking import form_errors
from ingestion.intake import drafts, open_packets
from ingestion.intake.quotas import QuotaExceeded, SpoolFull
from ingestion.models import Upload
from sites import eligibility
from sites.models import ApiToken, TokenScope, User
from web.documents.lookup import get_own_document
from web.packets.file_rules import explain_too_many, explain_unacceptable
from web.shell.request_limits import parse_whole_number


class OpenPacketUploads(TusUploads):
    """`/api/v1/uploads`: files of the open packets of a token's owner. Errors are problems."""

    token: ApiToken

    def authenticate(self) -> None:
        """Set `token` to the request's token.

        Raises Refusal 401, 403 or 429 without a usable one.
        """
        try:
            token = Bearer(TokenScope.SUBMIT)(self.request)
            if token is None:
                raise auth.report_missing_token()
        except Problem as problem:
            raise Refusal(problem.status, problem.detail, problem.headers) from None
        self.token = token

    def find_upload(self, upload_id: uuid.UUID) -> Upload | None:
        """Return the upload if it belongs to a packet of the token's owner, else None."""
        own = Upload.objects.filter(packet__owner=self.token.owner)
        return own.select_related("packet").filter(pk=upload_id).first()

    def create_upload(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        """Begin the upload of the file `number` of the open packet `packet`.

        `length` is in bytes. Raises Refusal 404 for an unknown packet or file, and 422 if the
        length is not the declared one.
        """
        number = parse_whole_number(metadata.get("number", ""))
        try:
            packet_id = uuid.UUID(metadata.get("packet", ""))
            packet = open_packets.find_open_packet(packet_id, owner=self.token.owner)
        except (ValueError, open_packets.OpenPacketNotFound):
            message = "`packet` in Upload-Metadata is not the id of an open packet."
            raise Refusal(404, message) from None
        files = open_packets.list_declared_files(packet)
        if number is None or number >= len(files):
            message = "`number` in Upload-Metadata is not the number of a file, counted from 0."
            raise Refusal(404, message)
        if files[number].size != length:
            message = f"The file was declared with {files[number].size} bytes, not {length}."
            raise Refusal(422, message)
        return open_packets.begin_upload(packet, number, metadata=header)

    def upload_url(self, upload: Upload) -> str:
        """Return the absolute URL of the upload."""
        return self.request.build_absolute_uri(reverse("api_upload", args=[upload.pk]))

    def refusal_response(self, refusal: Refusal) -> HttpResponse:
        """Return the refusal as a problem (RFC 9457)."""
        problem = Problem(refusal.status, refusal.message, headers=refusal.headers)
        return make_problem_response(self.request, problem)


class DraftUploads(TusUploads):
    """`/uploads/`: files of the signed-in person's draft. Errors are JSON with a sentence."""

    person: User

    def authenticate(self) -> None:
        """Set `person` to the signed-in person.

        Raises Refusal 401 without a session, and 403 if the person may not upload.
        """
        if not isinstance(self.request.user, User):
            raise Refusal(401, _("You were signed out. Sign in again."))
        self.person = self.request.user
        if self.request.method not in {"GET", "HEAD", "OPTIONS"} and (
            missing := eligibility.list_missing_for_upload(self.person)
        ):
            raise Refusal(403, missing[0].sentence)

    def find_upload(self, upload_id: uuid.UUID) -> Upload | None:
        """Return the upload if it belongs to an unsubmitted draft of the person, else None."""
        own = Upload.objects.filter(draft__user=self.person, draft__packet=None)
        return own.select_related("draft").filter(pk=upload_id).first()

    def create_upload(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        """Begin the upload of a new file of the person's draft.

        `length` is in bytes. Raises Refusal 404 if the document to correct is not the person's own,
        and refuses a file that is unacceptable, one too many, or over the quota. Raises SpoolFull.
        """
        filename = metadata.get("filename", "")
        if fault := explain_unacceptable(filename, length):
            self._refuse_file(filename, fault, "unacceptable")
        number = parse_whole_number(metadata.get("corrects", ""))
        try:
            corrected = None if number is None else get_own_document(self.person, number)
        except Http404:
            raise Refusal(404, "There is no such document.") from None
        draft = drafts.begin_draft(self.person, metadata.get("token", ""), corrected)
        try:
            return drafts.begin_upload(draft, filename, length, metadata=header)
        except drafts.DraftFull:
            message = explain_too_many(drafts.get_max_files(corrected))
            self._refuse_file(filename, message, "too_many")
        except SpoolFull:
            raise
        except QuotaExceeded as error:
            self._refuse_file(filename, str(error), "over_quota")

    def _refuse_file(self, filename: str, message: str, code: str) -> NoReturn:
        """Record that the file was refused, as for the upload form (R08), and raise Refusal 422."""
        by = self.person.actor
        form_errors.record_form_errors(
            "packet", codes={"file": [code]}, values={"file": filename}, by=by
        )
        raise Refusal(422, message)

    def upload_url(self, upload: Upload) -> str:
        """Return the path of the upload."""
        return reverse("resumable_upload", args=[upload.pk])

    def refusal_response(self, refusal: Refusal) -> HttpResponse:
        """Return the refusal as JSON with one sentence, which the upload form shows."""
        body = {"message": refusal.message}
        return JsonResponse(body, status=refusal.status, headers=refusal.headers)
