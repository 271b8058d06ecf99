"""The document types, read once from `types.toml` and a file of one's own, checked key by key.

A data manager adds types without code (docs/document-types.md): the file that DOCUMENT_TYPES_FILE
names adds its tables to ours, or replaces them. What is wrong with it is said with file, type and
key when the program starts, and not when a document arrives. The name comes from the environment,
since the processes that read documents have no other settings.
"""

import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from ingestion.rules import VERSION

SETTING = "DOCUMENT_TYPES_FILE"
MIN_TYPE_SCORE = 6  # points of landmarks from which a type may be recognised

_STRICT = ConfigDict(extra="forbid")
_WORD = re.compile(r"[^\W_]+")
Phrases = tuple[str, ...]


class TypesError(Exception):
    """A file of document types is wrong; the message names the file, the type and the key."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return pattern


@dataclass(frozen=True, config=_STRICT)
class FieldSpec:
    """Something that can be read from a document, and how it is found."""

    kind: Literal["date", "number", "text", "name", "lines", "names", "choice"]
    noun: str
    labels: Phrases = ()  # captions, the most telling first
    form: Phrases = ()  # names of form fields, which win over the text
    pattern: Annotated[str, AfterValidator(_compiles)] = ""  # "": the usual one of its kind
    shape: str = ""  # a number of fixed build, # is a digit: found without a caption
    near: str = ""  # this phrase must stand shortly before the caption, or in it
    not_near: str = ""
    past: bool = False  # a date that cannot lie ahead
    until: Phrases = ()  # for lines and names: what stands below the last of them
    heading: Phrases = ()  # the first line of the heading that holds one of these is the value
    line_with: Phrases = ()  # a line that holds one of these is the value, where no caption is
    box: str = ""  # the number of its box on a form
    alone: bool = False  # a name that heads page 1, on a line of its own, needs no caption
    name: str = ""  # under which it is kept: its key in the file, unless the table says another


@dataclass(frozen=True, config=_STRICT)
class Landmark:
    text: str | Phrases  # several phrases count once, whichever is found
    weight: int
    where: Literal["anywhere", "heading", "course"] = "anywhere"

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
    signer: str = ""  # the field that holds the name of who signs; "": any that is on it
    date_form: Phrases = ()


@dataclass(frozen=True, config=_STRICT)
class Validity:
    expires: str = ""  # field that holds a printed expiry
    max_age_months: int = Field(default=0, ge=0)  # 0: does not age
    from_: str = Field(default="", alias="from")  # field that its age is counted from
    printed_wins: bool = False  # the age counts only where no expiry is printed
    less_a_day: bool = False
    at_activation: bool = False  # what counted when its site went live counts on
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
    slug: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")]
    name: str  # as people see it
    noun: str  # as it stands within a sentence
    tmf: Artifact | None  # None: its place in the Reference Model is not established
    dating: str  # the Reference Model's convention for the artifact's date
    dated_by: str  # the field that holds that date
    landmarks: Annotated[tuple[Landmark, ...], Field(min_length=1)]
    fields: tuple[FieldSpec, ...]
    required: Phrases = ()  # without one of them it is rejected
    expected: Phrases = ()  # without one of them a person looks
    filename: Phrases = ()  # words in a file name that suggest the type
    signature: SignatureRule | None = None
    validity: Validity = field(default_factory=Validity)
    contradictions: Phrases = ()  # phrases that put the type in doubt
    us_dates: bool = False  # 03/12/2026 is 12 March... only on a form that says mm/dd/yyyy
    max_pages: int = Field(default=0, ge=0)  # of one document; 0: any number
    mentions: Phrases = ()  # types that it lists, in the words of their own titles
    per_person: bool = False
    names_site: bool = True  # a site number on it has to be this site's
    names_protocol: bool = False
    names_version: bool = False  # a protocol version on it has to be the study's current one
    printed: Phrases = ()  # further text of the blank form: none of it is ever a value

    @cached_property
    def captions(self) -> str:
        """What the blank form prints beside its entries, as words between blanks."""
        signature = self.signature.labels if self.signature else ()
        labels = (label for spec in self.fields for label in spec.labels)
        return _in_words([*labels, *signature, *self.printed])

    @cached_property
    def headings(self) -> str:
        """The same of the phrases by which the type is recognised."""
        return _in_words(phrase for mark in self.landmarks for phrase in mark.phrases)

    def prints(self, value: str, *, is_name: bool = False) -> bool:
        """Whether a text is part of the blank form: a caption, or a piece of its wording.

        For a name, a heading is none either: nobody is called Curriculum Vitae.
        """
        words = _in_words([value])
        return words in self.captions or (is_name and words in self.headings)


def _in_words(phrases: Iterable[str]) -> str:
    """The letters and digits of each phrase, with a blank on either side of every word."""
    return "\n".join(f" {' '.join(_WORD.findall(each.casefold()))} " for each in phrases)


class TypesFile(NamedTuple):
    name: str  # of the file
    text: str


@dataclass(frozen=True, config=_STRICT)
class _File:
    tmf_rm_version: str = ""  # of the first file, for all types
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Needs:
    """What a table of a type takes from elsewhere in the files."""

    fields: Phrases = ()
    tmf: dict[str, Any] = field(default_factory=dict)


def load(*sources: TypesFile) -> Mapping[str, DocumentType]:
    """A table replaces the one of its name in the files before.

    Raises TypesError with every fault that was found in the first faulty table.
    """
    files = [(source.name, _parsed(source)) for source in sources]
    version = files[0][1].tmf_rm_version
    specs = {
        key: _read(FieldSpec, f"{name}: fields.{key}", {"name": key, **table})
        for name, file in files
        for key, table in file.fields.items()
    }
    types = {
        slug: _document_type(f"{name}: types.{slug}", slug, table, specs, version)
        for name, file in files
        for slug, table in file.types.items()
    }
    return MappingProxyType(types)


def _parsed(source: TypesFile) -> _File:
    try:
        tables = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise TypesError(f"{source.name}: {error}") from error
    return _read(_File, source.name, tables)


def _document_type(
    where: str, slug: str, table: dict[str, Any], specs: Mapping[str, FieldSpec], version: str
) -> DocumentType:
    needs = _read(_Needs, where, {key: table[key] for key in ("fields", "tmf") if key in table})
    unknown = [name for name in needs.fields if name not in specs]
    if unknown:
        raise TypesError(f"{where}: fields: there is no [fields.{unknown[0]}]")
    own = {
        "slug": slug,
        "fields": [specs[name] for name in needs.fields],
        "tmf": {**needs.tmf, "tmf_rm_version": version} if needs.tmf else None,
    }
    kind = _read(DocumentType, where, {**table, **own})
    for fault in _faults(kind):
        raise TypesError(f"{where}: {fault}")
    return kind


def _faults(kind: DocumentType) -> Iterator[str]:
    """What one value alone cannot show."""
    known = {spec.name for spec in kind.fields}
    if kind.signature:
        known.add("signature_date")
    uses = {
        "dated_by": (kind.dated_by,),
        "required": kind.required,
        "expected": kind.expected,
        "validity.expires": (kind.validity.expires,),
        "validity.from": (kind.validity.from_,),
        "signature.signer": (kind.signature.signer if kind.signature else "",),
    }
    for key, names in uses.items():
        yield from (
            f"{key}: {name!r} is not among its fields"
            for name in names
            if name and name not in known
        )
    most = sum(landmark.weight for landmark in kind.landmarks if landmark.weight > 0)
    if most < MIN_TYPE_SCORE:
        least = f"{MIN_TYPE_SCORE} is the least that is recognised"
        yield f"landmarks: together they weigh {most}; {least}"
    if "course" not in known and any(mark.where == "course" for mark in kind.landmarks):
        yield "landmarks: where = 'course' needs the field 'course'"
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
        raise TypesError(f"{where}: {faults}") from error


class Catalogue(NamedTuple):
    types: Mapping[str, DocumentType]
    version: str  # of all rules, as each decision keeps it: "2026.11.3+ab12cd34" with a file
    fault: str = ""  # why the file could not be taken; then only our own types are there


def catalogue(path: str = "") -> Catalogue:
    """Our types, and those of the file at this path if one is named."""
    ours = TypesFile(
        "types.toml", Path(__file__).with_name("types.toml").read_text(encoding="utf-8")
    )
    if not path:
        return Catalogue(load(ours), VERSION)
    try:
        content = Path(path).read_bytes()
        types = load(ours, TypesFile(path, content.decode()))
    except (OSError, UnicodeDecodeError, TypesError) as error:
        return Catalogue(load(ours), VERSION, f"{error}")
    return Catalogue(types, f"{VERSION}+{hashlib.sha256(content).hexdigest()[:8]}")


TYPES, RULES_VERSION, FAULT = catalogue(os.environ.get(SETTING, ""))
