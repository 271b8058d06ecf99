"""Reads and validates manifests, which list documents to import.

A manifest is NDJSON, or one JSON list. It describes documents and never contains their bytes. If
one line is invalid, the whole file is refused, with all its faults: the sender corrects it once,
and no document is registered twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db.models import QuerySet
from pydantic import ValidationError

from audit.files import strict_json
from audit.files.strict_json import InvalidJSON
from ingestion.intake.field_faults import describe_faults
from ingestion.intake.submission_schemas import (
    MANIFEST_SCHEMAS,
    ManifestLine,
    UnsupportedSchema,
    choose_schema,
)
from ingestion.rules.document_types import TYPES
from sites.models import Portal, Site
from sites.portal_origin import PORTAL_SCHEMES


@dataclass(frozen=True, slots=True)
class SubmissionFault:
    """Describes what is wrong with one document of a submission, or with the whole submission.

    `line` is the line of the file or the number in the list, from 1. It is 0 for the whole
    submission.
    """

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else "the file"
        return f"{line}: {self.field}: {self.message}" if self.field else f"{line}: {self.message}"


class SubmissionRefused(Exception):
    """A submission is invalid, and nothing was registered. `faults` names everything to correct."""

    def __init__(self, faults: Sequence[SubmissionFault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


def read_manifest(text: str, *, sites: "QuerySet[Site] | None" = None) -> list[ManifestLine]:
    """Return the lines of a manifest. Raises SubmissionRefused with all faults of the file.

    `sites` are those for which the sender may submit. Other sites are reported as unknown.
    """
    faults: list[SubmissionFault] = []
    numbered: list[tuple[int, ManifestLine]] = []
    for number, content in _parse_lines(text, faults):
        try:
            model = choose_schema(MANIFEST_SCHEMAS, content)
            numbered.append((number, model.model_validate(content).as_line()))
        except UnsupportedSchema as error:
            faults.append(SubmissionFault(number, "schema_version", str(error)))
        except ValidationError as error:
            faults += [
                SubmissionFault(number, ".".join(map(str, path)), sentence)
                for path, sentence in describe_faults(error, content, model, MANIFEST_SCHEMAS)
            ]
    if not numbered and not faults:
        faults.append(SubmissionFault(0, "", "The manifest is empty. List at least one document."))
    faults += _check_against_database(numbered, Site.objects.all() if sites is None else sites)
    first: dict[tuple[str, str], int] = {}
    for number, line in numbered:
        earlier = first.setdefault((line.site_id, line.doc_id), number)
        if earlier != number:
            message = (
                f"Line {earlier} has the same doc_id {line.doc_id!r} for this site. Remove one of "
                "the lines, or correct its doc_id."
            )
            faults.append(SubmissionFault(number, "doc_id", message))
    if faults:
        raise SubmissionRefused(sorted(faults, key=lambda fault: (fault.line, fault.field)))
    return [line for _, line in numbered]


def _parse_lines(text: str, faults: list[SubmissionFault]) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each line or list element. Adds what is not JSON to `faults`."""
    if text.lstrip().startswith("["):
        try:
            yield from enumerate(strict_json.loads(text), start=1)
        except InvalidJSON as error:
            faults.append(
                SubmissionFault(error.line, "", f"The list is not JSON: {error.message}.")
            )
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield number, strict_json.loads(line)
        except InvalidJSON as error:
            where = f" at column {error.column}" if error.column else ""
            faults.append(SubmissionFault(number, "", f"This is not JSON: {error.message}{where}."))


def _check_against_database(
    numbered: Iterable[tuple[int, ManifestLine]], sites: "QuerySet[Site]"
) -> Iterator[SubmissionFault]:
    """Yield unknown sites, foreign addresses, and unknown types."""
    portals = {site.site_id: site.portal for site in sites.select_related("portal")}
    for number, line in numbered:
        portal = portals.get(line.site_id)
        if portal is None:
            message = (
                f"There is no site {line.site_id!r} for which you may submit. Check the number. "
                "Operations adds new sites with the command load_sites."
            )
            yield SubmissionFault(number, "site_id", message)
        elif refusal := explain_address_refusal(portal, line.url):
            yield SubmissionFault(number, "url", refusal)
        if line.document_type and line.document_type not in TYPES:
            known = ", ".join(TYPES)
            message = (
                f"{line.document_type!r} is not a document type. Leave the field out, or send one "
                f"of these types: {known}."
            )
            yield SubmissionFault(number, "document_type", message)


def explain_address_refusal(portal: Portal, url: str) -> str:
    """Return why this address may not be requested, or "" if it may.

    A manifest may only name addresses of the site's own portal.
    """
    try:
        asked, base = urlsplit(url), urlsplit(portal.base_url)
        same = (asked.hostname, asked.port) == (base.hostname, base.port)
    except ValueError as error:
        return f"This is not an address: {error}."
    scheme = PORTAL_SCHEMES.get(asked.scheme)
    if scheme is None or not asked.hostname:
        return f"Send an address that begins with {' or '.join(PORTAL_SCHEMES)}."
    if not scheme.is_encrypted and not portal.allow_http:
        return "Send an address that begins with https. This portal does not permit http."
    if not same or asked.username or asked.password:
        return (
            f"This address does not belong to the site's portal {portal.base_url}. Send an address "
            "of this portal, without a user name or password."
        )
    return ""
