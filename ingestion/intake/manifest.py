"""A manifest file to descriptors, or every fault in it with its line.

NDJSON, or one JSON list. One bad line refuses the whole file: a sender mends it once, and nothing
is registered twice. Descriptors only, never bytes.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.db.models import QuerySet
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from audit.files import strict_json
from audit.files.strict_json import InvalidJSON
from ingestion.rules.checks.verdict import SCHEMA_VERSIONS
from ingestion.rules.document_types import TYPES
from sites.models import Portal, Site
from sites.portal_origin import PORTAL_SCHEMES


@dataclass(frozen=True, slots=True)
class SubmissionFault:
    """`line` counts from 1: of the file, or of the list. 0: the file as a whole."""

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else "the file"
        return (
            f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"
        )


class SubmissionRefused(Exception):
    """Nothing was registered. `faults` name all that has to be mended."""

    def __init__(self, faults: Sequence[SubmissionFault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


# Ledger lines are in Unicode normal form C; file systems and keyboards write other forms.
NormalizedText = BeforeValidator(
    lambda value: unicodedata.normalize("NFC", value) if isinstance(value, str) else value
)
PRINTABLE_PATTERN = r"^[^\x00-\x1f\x7f]*$"  # PostgreSQL keeps no NUL, and a name has no line breaks


class ManifestLine(BaseModel):
    """One line of a manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    site_id: Annotated[str, NormalizedText, Field(min_length=1, max_length=60)]
    doc_id: Annotated[
        str, NormalizedText, Field(min_length=1, max_length=120, pattern=r"^[\w.@:+ -]+$")
    ]
    url: Annotated[str, Field(min_length=1, max_length=2000, pattern=PRINTABLE_PATTERN)]
    schema_version: Annotated[str, Field(min_length=1, max_length=20)]
    document_type: Annotated[str, Field(max_length=40)] = ""
    sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    filename: Annotated[str, Field(max_length=255, pattern=PRINTABLE_PATTERN)] = ""
    packet: Annotated[str, Field(max_length=120, pattern=PRINTABLE_PATTERN)] = ""


def read_manifest(text: str, *, sites: "QuerySet[Site] | None" = None) -> list[ManifestLine]:
    """Raises Refused with every fault of the file, never with the first one alone.

    `sites`: those that the sender may send for; for others it reads as if there were none.
    """
    faults: list[SubmissionFault] = []
    numbered: list[tuple[int, ManifestLine]] = []
    for line, content in _lines(text, faults):
        try:
            numbered.append((line, ManifestLine.model_validate(content)))
        except ValidationError as error:
            faults += [_fault(line, detail) for detail in error.errors()]
    if not numbered and not faults:
        faults.append(SubmissionFault(0, "", "it is empty; a manifest names at least one document"))
    faults += _against_the_register(numbered, Site.objects.all() if sites is None else sites)
    faults += _repeated(numbered)
    if faults:
        raise SubmissionRefused(sorted(faults, key=lambda fault: (fault.line, fault.field)))
    return [descriptor for _, descriptor in numbered]


def _lines(text: str, faults: list[SubmissionFault]) -> Iterator[tuple[int, Any]]:
    """(number, value) of each line or list element; what is not JSON becomes a fault."""
    if text.lstrip().startswith("["):
        try:
            yield from enumerate(strict_json.loads(text), start=1)
        except InvalidJSON as error:
            faults.append(SubmissionFault(error.line, "", f"the list is not JSON: {error.message}"))
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield number, strict_json.loads(line)
        except InvalidJSON as error:
            where = f" at column {error.column}" if error.column else ""
            faults.append(SubmissionFault(number, "", f"not JSON: {error.message}{where}"))


_PLAIN = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of a manifest",
    "string_too_short": "is empty",
    "string_type": "has to be text",
    "model_type": "the line has to be a JSON object",
    "dict_type": "the line has to be a JSON object",
}


def _fault(line: int, detail: Any) -> SubmissionFault:
    field = ".".join(str(part) for part in detail["loc"])
    if field == "sha256":
        return SubmissionFault(line, field, "has to be 64 lower-case hexadecimal digits")
    message = _PLAIN.get(detail["type"], detail["msg"][:1].lower() + detail["msg"][1:])
    return SubmissionFault(line, field, message)


def _against_the_register(
    numbered: Iterable[tuple[int, ManifestLine]], sites: "QuerySet[Site]"
) -> Iterator[SubmissionFault]:
    """What only the database and the rules can tell."""
    portals = {site.site_id: site.portal for site in sites.select_related("portal")}
    for line, descriptor in numbered:
        portal = portals.get(descriptor.site_id)
        if portal is None:
            message = f"there is no site {descriptor.site_id!r}; load it with load_sites first"
            yield SubmissionFault(line, "site_id", message)
        elif problem := explain_address_refusal(portal, descriptor.url):
            yield SubmissionFault(line, "url", problem)
        if descriptor.schema_version not in SCHEMA_VERSIONS:
            known = ", ".join(SCHEMA_VERSIONS)
            message = f"{descriptor.schema_version!r} is not supported; supported: {known}"
            yield SubmissionFault(line, "schema_version", message)
        if descriptor.document_type and descriptor.document_type not in TYPES:
            known = ", ".join(TYPES)
            message = f"{descriptor.document_type!r} is not a type; types: {known}"
            yield SubmissionFault(line, "document_type", message)


def explain_address_refusal(portal: Portal, url: str) -> str:
    """Why this address may not be asked; "" when it may. A manifest sends us nowhere else."""
    try:
        asked, base = urlsplit(url), urlsplit(portal.base_url)
        same = (asked.hostname, asked.port) == (base.hostname, base.port)
    except ValueError as error:
        return f"is not an address: {error}"
    scheme = PORTAL_SCHEMES.get(asked.scheme)
    if scheme is None or not asked.hostname:
        return "is not an http(s) address"
    if not scheme.is_encrypted and not portal.allow_http:
        return "has to be https"
    if not same or asked.username or asked.password:
        return f"does not belong to the site's portal {portal.base_url}"
    return ""


def _repeated(numbered: Iterable[tuple[int, ManifestLine]]) -> Iterator[SubmissionFault]:
    first: dict[tuple[str, str], int] = {}
    for line, descriptor in numbered:
        identity = (descriptor.site_id, descriptor.doc_id)
        if identity in first:
            message = f"{descriptor.doc_id!r} of this site stands on line {first[identity]} already"
            yield SubmissionFault(line, "doc_id", message)
        first.setdefault(identity, line)
