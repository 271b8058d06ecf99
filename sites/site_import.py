"""A file of sites to rows: studies, portals and sites, created or brought up to date.

All or nothing, with every fault named; each difference is a ledger entry with old and new values.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.validators import RegexValidator
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
from sites.portal_origin import address_without_secrets, origin_of

Text = Annotated[str, Field(min_length=1, max_length=200)]
# A ledger line names the site: in Unicode normal form C, without control characters.
SiteNumber = Annotated[
    str,
    AfterValidator(lambda value: unicodedata.normalize("NFC", value)),
    Field(min_length=1, max_length=60, pattern=r"^[\w.@:+ -]+$"),
]
Host = Annotated[
    str, Field(pattern=r"^[\w.-]+(:\d{1,5})?$", max_length=260), AfterValidator(str.lower)
]


def _checked_by(validator: RegexValidator) -> Callable[[str], str]:
    """A form's validator for a field of the file: one rule for both doors."""

    def check(value: str) -> str:
        try:
            validator(value)
        except DjangoValidationError as error:
            raise ValueError(error.message) from error
        return value

    return check


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class PortalRow(_Strict):
    # No name or password in it: secrets are references (decision 27).
    base_url: Annotated[
        str, AfterValidator(_checked_by(address_without_secrets)), Field(max_length=500)
    ]
    allowed_hosts: Annotated[list[Host], PlainSerializer("\n".join)] = []
    secret_header: Annotated[
        str, AfterValidator(_checked_by(header_name)), Field(max_length=100)
    ] = "Authorization"  # noqa: S105 - the name of a header
    rate_per_second: Annotated[float, Field(gt=0)] = 1.0
    burst: Annotated[int, Field(ge=1)] = 1
    max_in_flight: Annotated[int, Field(ge=1)] = 2
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    allow_http: bool = False
    allow_private_hosts: bool = False
    key: Annotated[str, Field(max_length=80)] = (
        ""  # shared by several sites; default: the site's own
    )


class SiteRow(_Strict):
    study: Annotated[str, Field(min_length=1, max_length=60)]
    # The study's current one; where it is left out, what is on record stays.
    protocol_version: (
        Annotated[str, AfterValidator(_checked_by(version_number)), Field(max_length=40)] | None
    ) = None
    site_id: SiteNumber
    name: Text
    country: Annotated[str, Field(min_length=1, max_length=100)]
    activated_on: date | None = None  # left alone by a file that does not say
    portal: PortalRow


_PLURALS = {"study": "studies", "portal": "portals", "site": "sites"}


class RosterRefused(Exception):
    """Nothing was changed; the message names every fault."""


@dataclass(slots=True)
class Loaded:
    """How many rows of each kind were created and changed."""

    created: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        def listed(counts: Mapping[str, int]) -> str:
            words = (f"{n} {kind if n == 1 else _PLURALS[kind]}" for kind, n in counts.items())
            return ", ".join(words) or "none"

        return f"created: {listed(self.created)}; changed: {listed(self.changed)}"


def read(text: str) -> list[SiteRow]:
    """Raises RosterRefused."""
    try:
        rows = TypeAdapter(list[SiteRow]).validate_python(strict_json.loads(text))
    except InvalidJSON as error:
        where = f"line {error.line}" if error.line else "the file"
        raise RosterRefused(f"{where}: not JSON: {error.message}") from error
    except ValidationError as error:
        raise RosterRefused("\n".join(_sentence(detail) for detail in error.errors())) from error
    if not rows:
        raise RosterRefused("the list is empty; it names at least one site")
    numbers = [row.site_id for row in rows]
    if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise RosterRefused(f"named more than once: {', '.join(repeated)}")
    _refuse_two_versions_of_one_protocol(rows)
    return rows


def _refuse_two_versions_of_one_protocol(rows: list[SiteRow]) -> None:
    versions: dict[str, str] = {}
    for row in rows:
        version = row.protocol_version
        if version is not None and versions.setdefault(row.study, version) != version:
            both = f"{versions[row.study]} and {version}"
            raise RosterRefused(f"study {row.study} has two protocol versions: {both}")


def _sentence(detail: Any) -> str:
    where = [str(part + 1) if isinstance(part, int) else part for part in detail["loc"]]
    number, *path = where or ["?"]
    return f"site {number}: {'.'.join(path) or 'the element'}: {detail['msg']}"


def load(rows: list[SiteRow], *, by: Actor) -> Loaded:
    """Create or update. The same file again changes nothing and records nothing."""
    loaded = Loaded()
    with ledger():
        for row in rows:
            keep = _Keeper(loaded, by, row.site_id)
            version = row.protocol_version
            known = {} if version is None else {"protocol_version": version}
            study = keep(Study, {"protocol_number": row.study}, known)
            key = row.portal.key or f"site-{slugify(row.site_id)}"
            terms = row.portal.model_dump(exclude={"key"})
            # Whoever runs the server may read the secrets: no second person is asked.
            terms["approved_origin"] = origin_of(row.portal.base_url)
            portal = keep(Portal, {"key": key}, terms)
            columns = {"study": study, "portal": portal, "name": row.name, "country": row.country}
            if "activated_on" in row.model_fields_set:
                columns["activated_on"] = row.activated_on
            keep(Site, {"site_id": row.site_id}, columns)
    return loaded


@dataclass(frozen=True, slots=True)
class _Keeper:
    loaded: Loaded
    by: Actor
    site_id: str

    def __call__(
        self, model: type[models.Model], identity: Mapping[str, str], columns: Mapping[str, Any]
    ) -> Any:
        """The row with this identity and these columns, created or changed on record."""
        kind = model._meta.model_name or ""
        row: Any
        row, is_new = model._default_manager.get_or_create(**identity, defaults=dict(columns))
        before = {name: getattr(row, name) for name in columns}
        changes = {name: new for name, new in columns.items() if new != before[name]}
        facts = {"by": self.by, "site": self.site_id}
        if is_new:
            created = {name: str(value) for name, value in columns.items()}
            row.record_at_revision(f"{kind}.created", **facts, detail=created)
            self.loaded.created[kind] = self.loaded.created.get(kind, 0) + 1
        elif changes:
            model._default_manager.filter(pk=row.pk).update(**changes)
            row.refresh_from_db()
            diff = {k: {"old": str(before[k]), "new": str(v)} for k, v in changes.items()}
            row.record(f"{kind}.changed", **facts, detail=diff)
            self.loaded.changed[kind] = self.loaded.changed.get(kind, 0) + 1
        return row
