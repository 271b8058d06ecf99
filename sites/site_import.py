"""Imports studies, portals and sites from a file: creates rows and updates existing ones.

The import is applied completely or not at all, and all faults are reported. Each change is recorded
in the ledger with old and new values.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import models
from django.utils.text import slugify
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from audit.files import strict_json
from audit.files.strict_json import InvalidJSON
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from sites.models import Portal, Site, Study
from sites.models.portals import header_name
from sites.models.studies import version_number
from sites.portal_origin import parse_origin, validate_portal_address

Text = Annotated[str, Field(min_length=1, max_length=200)]
# Ledger entries contain the number: in Unicode normal form C, without control characters.
SiteNumber = Annotated[
    str,
    AfterValidator(lambda value: unicodedata.normalize("NFC", value)),
    Field(min_length=1, max_length=60, pattern=r"^[\w.@:+ -]+$"),
]
Host = Annotated[
    str, Field(pattern=r"^[\w.-]+(:\d{1,5})?$", max_length=260), AfterValidator(str.lower)
]


def _validated_by(validator: Callable[[str], object]) -> Callable[[str], str]:
    """Return a validator of a form as a validator for a field of the file."""

    def check(value: str) -> str:
        try:
            validator(value)
        except DjangoValidationError as error:
            raise ValueError(error.message) from error
        return value

    return check


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class AddressRow(_Strict):
    """Describes a portal or a mirror: its address, its limits and its exceptions.

    It has no secret.
    """

    # Without user name and password. Secrets are references.
    base_url: Annotated[
        str, AfterValidator(_validated_by(validate_portal_address)), Field(max_length=500)
    ]
    allowed_hosts: Annotated[list[Host], PlainSerializer("\n".join)] = []
    secret_header: Annotated[
        str, AfterValidator(_validated_by(header_name)), Field(max_length=100)
    ] = "Authorization"  # noqa: S105 - the name of a header
    rate_per_second: Annotated[float, Field(gt=0)] = 1.0
    burst: Annotated[int, Field(ge=1)] = 1
    max_in_flight: Annotated[int, Field(ge=1)] = 2
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    allow_http: bool = False
    allow_private_hosts: bool = False
    # For a portal that several sites share. Default: a key of the site's own; of a mirror, the key
    # of its portal with "-mirror-1" and so on.
    key: Annotated[str, Field(max_length=80)] = ""


class PortalRow(AddressRow):
    """Describes the portal of a line, with its mirrors in the order in which they are asked."""

    # If they are left out, the stored mirrors stay.
    mirrors: Annotated[list[AddressRow], Field(max_length=10)] = []


class SiteRow(_Strict):
    """Describes one line of the file: a site with its study and its portal."""

    study: Annotated[str, Field(min_length=1, max_length=60)]
    # The current version of the protocol. If it is left out, the stored version stays.
    protocol_version: (
        Annotated[str, AfterValidator(_validated_by(version_number)), Field(max_length=40)] | None
    ) = None
    site_id: SiteNumber
    name: Text
    country: Annotated[str, Field(min_length=1, max_length=100)]
    activated_on: date | None = None  # if it is left out, the stored date stays
    # The principal investigator. What is left out stays as it is stored.
    investigator: Annotated[str, Field(max_length=200)] = ""
    investigator_licence: Annotated[str, Field(max_length=60)] = ""
    portal: PortalRow


_PLURALS = {"study": "studies", "portal": "portals", "site": "sites"}


class SiteImportRefused(Exception):
    """The file was refused and nothing was changed. The message names all faults."""


@dataclass(slots=True)
class ImportSummary:
    """Counts the rows of each kind that were created and changed."""

    created: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        def listed(counts: Mapping[str, int]) -> str:
            words = (f"{n} {kind if n == 1 else _PLURALS[kind]}" for kind, n in counts.items())
            return ", ".join(words) or "none"

        return f"created: {listed(self.created)}; changed: {listed(self.changed)}"


def read_sites(text: str) -> list[SiteRow]:
    """Return the rows of a JSON list. Raises SiteImportRefused."""
    try:
        rows = TypeAdapter(list[SiteRow]).validate_python(strict_json.loads(text))
    except InvalidJSON as error:
        where = f"line {error.line}" if error.line else "the file"
        raise SiteImportRefused(f"{where}: not JSON: {error.message}") from error
    except ValidationError as error:
        faults = []
        for detail in error.errors():
            path = [str(part + 1) if isinstance(part, int) else part for part in detail["loc"]]
            number, *names = path or ["?"]
            faults.append(f"site {number}: {'.'.join(names) or 'the element'}: {detail['msg']}")
        raise SiteImportRefused("\n".join(faults)) from error
    if not rows:
        raise SiteImportRefused("the list is empty; it has to contain at least one site")
    numbers = [row.site_id for row in rows]
    if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise SiteImportRefused(f"named more than once: {', '.join(repeated)}")
    _check_protocol_versions(rows)
    return rows


def _check_protocol_versions(rows: list[SiteRow]) -> None:
    """Raise SiteImportRefused if two sites of a study have different protocol versions."""
    versions: dict[str, str] = {}
    for row in rows:
        version = row.protocol_version
        if version is not None and versions.setdefault(row.study, version) != version:
            both = f"{versions[row.study]} and {version}"
            raise SiteImportRefused(f"study {row.study} has two protocol versions: {both}")


def import_sites(rows: list[SiteRow], *, by: Actor) -> ImportSummary:
    """Create or update the rows. A repeated import changes and records nothing."""
    summary = ImportSummary()
    with ledger():
        for row in rows:
            save = _RowImport(summary, by, row.site_id, row.study).save
            version = row.protocol_version
            version_column = {} if version is None else {"protocol_version": version}
            study = save(Study, {"protocol_number": row.study}, version_column)
            key = row.portal.key or f"site-{slugify(row.site_id)}"
            portal = save(Portal, {"key": key}, _list_terms(row.portal))
            if "mirrors" in row.portal.model_fields_set:
                _save_mirrors(portal, row.portal.mirrors, save)
            columns: dict[str, Any] = {
                "study": study,
                "portal": portal,
                "name": row.name,
                "country": row.country,
            }
            optional = ("activated_on", "investigator", "investigator_licence")
            columns |= {
                name: getattr(row, name) for name in optional if name in row.model_fields_set
            }
            save(Site, {"site_id": row.site_id}, columns)
    return summary


def _list_terms(row: AddressRow) -> dict[str, Any]:
    """Return the columns of a portal or of a mirror."""
    terms = row.model_dump(exclude={"key", "mirrors"})
    # No approval is needed: the administrator of the server can read the secrets.
    return terms | {"approved_origin": parse_origin(row.base_url)}


def _save_mirrors(portal: Portal, rows: list[AddressRow], save: Callable[..., Any]) -> None:
    """Save the mirrors of a portal. A mirror that is not listed any more is no longer used."""
    if portal.mirror_of_id is not None:
        raise SiteImportRefused(f"portal {portal.key} is a mirror, so it cannot have mirrors")
    kept = []
    for number, row in enumerate(rows, start=1):
        key = row.key or f"{portal.key}-mirror-{number}"
        if key == portal.key or Portal.objects.filter(key=key, sites__isnull=False).exists():
            raise SiteImportRefused(f"mirror {key} is the portal of a site: give it another key")
        columns = _list_terms(row) | {"mirror_of": portal, "mirror_order": number}
        kept.append(save(Portal, {"key": key}, columns).pk)
    for unlisted in portal.mirrors.exclude(pk__in=kept):
        save(Portal, {"key": unlisted.key}, {"mirror_of": None})


@dataclass(frozen=True, slots=True)
class _RowImport:
    """Saves the rows of one site."""

    summary: ImportSummary
    by: Actor
    site_id: str
    study: str

    def save(
        self, model: type[models.Model], identity: Mapping[str, str], columns: Mapping[str, Any]
    ) -> Any:
        """Return the row with this identity, after creating or changing it, which is recorded."""
        kind = model._meta.model_name or ""
        row: Any
        row, is_new = model._default_manager.get_or_create(**identity, defaults=dict(columns))
        before = {name: getattr(row, name) for name in columns}
        changes = {name: new for name, new in columns.items() if new != before[name]}
        logged = {"study": self.study}
        facts = {"by": self.by, "site": self.site_id, "logged": logged}
        if is_new:
            created = {name: str(value) for name, value in columns.items()}
            row.record_at_revision(f"{kind}.created", **facts, detail=created)
            self.summary.created[kind] = self.summary.created.get(kind, 0) + 1
        elif changes:
            model._default_manager.filter(pk=row.pk).update(**changes)
            row.refresh_from_db()
            diff = {k: {"old": str(before[k]), "new": str(v)} for k, v in changes.items()}
            row.record(f"{kind}.changed", **facts, detail=diff)
            self.summary.changed[kind] = self.summary.changed.get(kind, 0) + 1
        return row
