"""The document types, read once from `types.toml` and checked key by key.

A data manager extends that file without code; what is wrong with it is said with the
type and the key (`TypesError`), when the program starts and not when a document arrives.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

_STRICT = ConfigDict(extra="forbid")
Phrases = tuple[str, ...]


class TypesError(Exception):
    """The file of document types is wrong; the message names the type and the key."""


@dataclass(frozen=True, config=_STRICT)
class FieldSpec:
    """Something that can be read from a document, and how it is found."""

    kind: Literal["date", "number", "text", "name"]
    noun: str
    labels: Phrases = ()  # captions, the most telling first
    form: Phrases = ()  # names of form fields, which win over the text
    pattern: str = ""  # of the value; "" for the usual one of its kind
    shape: str = ""  # a number of fixed build, # is a digit: found without a caption
    near: str = ""  # this phrase must stand shortly before the caption
    not_near: str = ""
    past: bool = False  # a date that cannot lie ahead
    name: str = ""  # its key in the file


@dataclass(frozen=True, config=_STRICT)
class Landmark:
    text: str | Phrases  # several phrases count once, whichever is found
    weight: int
    where: Literal["anywhere", "heading"] = "anywhere"

    @cached_property
    def phrases(self) -> Phrases:
        return (self.text,) if isinstance(self.text, str) else self.text


@dataclass(frozen=True, config=_STRICT)
class SignatureRule:
    """Who has to sign, where, in words that go into a sentence."""

    role: str  # "the investigator"
    section: str  # "section 11"
    labels: Phrases
    required: bool = True
    dated: bool = True  # the signature needs a date of its own
    form: Phrases = ()  # signature fields of a fillable PDF
    date_form: Phrases = ()


@dataclass(frozen=True, config=_STRICT)
class Validity:
    expires: str = ""  # field that holds a printed expiry
    max_age_months: int = Field(default=0, ge=0)  # 0: does not age
    from_: str = Field(default="", alias="from")  # field that its age is counted from
    printed_wins: bool = False  # the age counts only where no expiry is printed
    less_a_day: bool = False
    warn_days: tuple[int, ...] = (90, 30, 7)


@dataclass(frozen=True, config=_STRICT)
class Artifact:
    """Where the TMF Reference Model files it. The id is permanent, the number moves."""

    artifact: Annotated[str, Field(pattern=r"^\d{2}\.\d{2}\.\d{2}$")]
    uid: Annotated[str, Field(pattern=r"^\d{3}$")]
    name: str
    tmf_rm_version: str = ""  # of the file's head


@dataclass(frozen=True, config=_STRICT)
class DocumentType:
    slug: str
    name: str  # as people see it
    noun: str  # as it stands within a sentence
    tmf: Artifact
    dating: str  # the Reference Model's convention for the artifact's date
    dated_by: str  # the field that holds that date
    landmarks: Annotated[tuple[Landmark, ...], Field(min_length=1)]
    fields: tuple[FieldSpec, ...]
    required: Phrases = ()
    filename: Phrases = ()  # words in a file name that suggest the type
    signature: SignatureRule | None = None
    validity: Validity = field(default_factory=Validity)
    contradictions: Phrases = ()  # phrases that put the type in doubt
    us_dates: bool = False  # 03/12/2026 is 12 March... only on a form that says mm/dd/yyyy
    per_person: bool = False
    optional: bool = False  # not every site has one: never listed as missing
    names_site: bool = True  # a site number on it has to be this site's
    names_protocol: bool = False


def load(text: str) -> Mapping[str, DocumentType]:
    """Raises TypesError with every fault that was found in the first faulty table."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TypesError(f"types.toml: {error}") from error
    version = data.get("tmf_rm_version", "")
    specs = {
        name: _read(FieldSpec, f"fields.{name}", {**table, "name": name})
        for name, table in data.get("fields", {}).items()
    }
    types = {
        slug: _document_type(slug, table, specs, version)
        for slug, table in data.get("types", {}).items()
    }
    return MappingProxyType(types)


def _document_type(
    slug: str, table: dict[str, Any], specs: Mapping[str, FieldSpec], version: str
) -> DocumentType:
    names = table.get("fields", [])
    unknown = [name for name in names if name not in specs]
    if unknown:
        raise TypesError(f"types.toml: types.{slug}: fields: there is no [fields.{unknown[0]}]")
    kind = _read(
        DocumentType,
        f"types.{slug}",
        {
            **table,
            "slug": slug,
            "fields": [specs[name] for name in names],
            "tmf": {**table.get("tmf", {}), "tmf_rm_version": version},
        },
    )
    for fault in _faults(kind):
        raise TypesError(f"types.toml: types.{slug}: {fault}")
    return kind


def _faults(kind: DocumentType) -> Iterator[str]:
    """What one value alone cannot show."""
    known = {spec.name for spec in kind.fields}
    if kind.signature:
        known.add("signature_date")
    uses = {
        "dated_by": (kind.dated_by,),
        "required": kind.required,
        "validity.expires": (kind.validity.expires,),
        "validity.from": (kind.validity.from_,),
    }
    for key, names in uses.items():
        yield from (
            f"{key}: {name!r} is not among its fields"
            for name in names
            if name and name not in known
        )
    if kind.validity.max_age_months and not kind.validity.from_:
        yield "validity.from: say which date the age is counted from"


T = TypeVar("T")


def _read(shape: type[T], where: str, table: dict[str, Any]) -> T:
    try:
        return shape(**table)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}"
            for fault in error.errors()
        )
        raise TypesError(f"types.toml: {where}: {faults}") from error


TYPES: Mapping[str, DocumentType] = load(
    Path(__file__).with_name("types.toml").read_text(encoding="utf-8")
)
