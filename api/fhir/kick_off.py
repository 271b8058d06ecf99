"""Reads the request that starts an export: its headers and its parameters.

The parameters are those of the operation `export` (FHIR Bulk Data 3.0.0, system level), in the
query of a GET, or in a resource Parameters that is the body of a POST.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from api.http import request_bodies
from api.http.outcomes import MEDIA_TYPE, FhirError
from api.http.problems import Problem
from audit.ledger.log import write_time
from ingestion.fhir.export import EVERY_TYPE

OUTPUT_FORMATS = {"application/fhir+ndjson", "application/ndjson", "ndjson"}
# FHIR's `instant`, with a space where an unencoded + was.
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?)(Z|[+ -]\d\d:\d\d)").fullmatch


@dataclass(slots=True)
class ExportRequest:
    """Describes a requested export. `warnings` name the parameters that were ignored."""

    types: list[str]
    since: str = ""  # as `write_time` writes it
    warnings: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the job, without the URL of the request."""
        return {"types": self.types, "since": self.since, "warnings": self.warnings}


def read_export_request(request: HttpRequest, permitted: Collection[str]) -> ExportRequest:
    """Return the request of an export of these resource types. Raises FhirError 400 or 403."""
    preferences = _read_preferences(request)
    if "respond-async" not in preferences:
        raise FhirError(400, "Send the header `Prefer: respond-async`.", code="required")
    accepted = request.headers.get("Accept", "*/*")
    if not any(each in accepted for each in ("*/*", "application/*", "json")):
        raise FhirError(400, f"Send the header `Accept: {MEDIA_TYPE}`.")
    is_lenient = preferences.get("handling") == "lenient"
    given = _read_parameters(request)
    wanted = ExportRequest([name for name in EVERY_TYPE if name in permitted])
    for name, values in given.items():
        reader = _READERS.get(name)
        if reader is not None:
            reader(wanted, values, permitted, is_lenient)
        elif is_lenient:
            wanted.warnings.append(f"The parameter {name} is not supported and was ignored.")
        else:
            raise FhirError(
                400,
                f"The parameter {name} is not supported. Leave it out, or send "
                "`Prefer: handling=lenient`.",
                code="not-supported",
            )
    if not wanted.types:
        raise FhirError(403, "The access token permits none of these resource types.")
    return wanted


def _read_preferences(request: HttpRequest) -> dict[str, str]:
    """Return the preferences of the header `Prefer` (RFC 7240). The first of a name counts."""
    preferences: dict[str, str] = {}
    for part in re.split(r"[,;]", request.headers.get("Prefer", "")):
        name, _, value = part.strip().partition("=")
        preferences.setdefault(name.strip().lower(), value.strip().strip('"').lower())
    return preferences


def _read_parameters(request: HttpRequest) -> Mapping[str, list[str]]:
    if request.method != "POST" or not request.headers.get("Content-Length", "0").strip("0"):
        return dict(request.GET.lists())
    try:
        size = request_bodies.check_content_length(request, max_megabytes=settings.MAX_MANIFEST_MB)
        body = request_bodies.parse_json(request.read(size))
    except Problem as error:
        raise FhirError(error.status, error.detail) from None
    if not isinstance(body, dict) or body.get("resourceType") != "Parameters":
        raise FhirError(400, "The body has to be a resource Parameters.", code="structure")
    given: dict[str, list[str]] = {name: list(each) for name, each in request.GET.lists()}
    parts = body.get("parameter", [])
    for part in parts if isinstance(parts, list) else [parts]:
        named = part if isinstance(part, dict) else {}
        values = [value for key, value in named.items() if key.startswith("value")]
        if not isinstance(named.get("name"), str) or len(values) != 1:
            raise FhirError(400, "Each parameter has a name and one value.", code="structure")
        given.setdefault(named["name"], []).append(str(values[0]))
    return given


def _read_types(
    wanted: ExportRequest, values: list[str], permitted: Collection[str], is_lenient: bool
) -> None:
    named = [name.strip() for value in values for name in value.split(",") if name.strip()]
    for name in named:
        if name in EVERY_TYPE and name in permitted:
            continue
        reason = "not permitted for this token" if name in EVERY_TYPE else "not supported"
        if not is_lenient:
            status = 403 if name in EVERY_TYPE else 400
            raise FhirError(status, f"The resource type {name} is {reason}.")
        wanted.warnings.append(f"The resource type {name} is {reason} and was left out.")
    wanted.types = [name for name in wanted.types if name in named]


def _read_since(
    wanted: ExportRequest, values: list[str], _permitted: Collection[str], _is_lenient: bool
) -> None:
    moment = _parse_instant(values[-1])
    if moment is None:
        detail = "_since is an instant with a time zone, as in 2026-11-26T00:00:00Z."
        raise FhirError(400, detail, code="value")
    wanted.since = write_time(moment)


def _parse_instant(text: str) -> datetime | None:
    if (found := _INSTANT(text)) is None:
        return None
    zone = found[3].replace(" ", "+").replace("Z", "+00:00")
    try:
        return datetime.fromisoformat(f"{found[1][:26]}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _read_output_format(
    _wanted: ExportRequest, values: list[str], _permitted: Collection[str], _is_lenient: bool
) -> None:
    # An unencoded + in a query arrives as a space.
    if values[-1].replace(" ", "+") not in OUTPUT_FORMATS:
        detail = "_outputFormat can be application/fhir+ndjson, application/ndjson or ndjson."
        raise FhirError(400, detail, code="not-supported")


_READERS = {
    "_type": _read_types,
    "_since": _read_since,
    "_outputFormat": _read_output_format,
}
