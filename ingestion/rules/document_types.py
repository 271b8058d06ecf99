"""Reads the document types, once, from `types.toml` and from a file of the installation.

A data manager adds types without code (docs/document-types.md): the tables of the file that
DOCUMENT_TYPES_FILE names are added to the built-in tables, or replace them. Each key is checked. An
error is reported with its file, type and key when the program starts, and not when a document
arrives. The file name comes from the environment, because the parser processes have no other
settings.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import tomli
from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from ingestion.reading.languages import ENGLISH
from ingestion.rules import VERSION
from ingestion.rules.fuzzy_phrases import fold_letters

# The coefficients of the statistical model, see classification.type_model.
MODEL_FILE = Path(__file__).with_name("type_model.json")
# The coefficients of the model of boundaries, see segmentation.boundary_model.
BOUNDARY_MODEL_FILE = Path(__file__).with_name("boundary_model.json")
VALUE_MODEL_FILE = Path(__file__).with_name("value_model.json")
TYPES_FILE_SETTING = "DOCUMENT_TYPES_FILE"
MIN_TYPE_SCORE = 6  # sum of landmark weights; with fewer points a type is not recognised

# The phrases of other languages, each in a file with the name of the language.
LANGUAGES_FOLDER = Path(__file__).with_name("languages")
TRANSLATED_LANGUAGES = frozenset(path.stem for path in LANGUAGES_FOLDER.glob("*.toml"))
# Keys of a field whose phrases are English, and those of searches that know English words.
_ENGLISH_KEYS = frozenset(
    {"roles", "sentences", "heading", "line_with", "near", "not_near"}
    | {"is_reference", "is_title", "is_institution", "is_investigator"}
)
T = TypeVar("T")

_STRICT = ConfigDict(extra="forbid")
_WORD = re.compile(r"[^\W_]+")
Phrases = tuple[str, ...]
# What a date is the date of; see fields.date_roles.
Role = Literal[
    "signature",
    "other",
    "end",
    "submission",
    "version",
    "completion",
    "approval",
    "decision",
    "earlier",
    "review",
    "beginning",
    "issue",
]


class TypesError(Exception):
    """A file of document types contains an error. The message names the file, type and key."""


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


@dataclass(frozen=True, config=_STRICT)
class FieldSpec:
    """A field that can be extracted from a document, and how its value is found."""

    kind: Literal["date", "number", "text", "name", "lines", "names", "choice"]
    noun: str
    labels: Phrases = ()  # captions, the most specific first
    form: Phrases = ()  # names of form fields, which have priority over the text
    pattern: Annotated[str, AfterValidator(_check_pattern)] = ""  # "": the default of its kind
    shape: str = ""  # format of a number that needs no caption; # stands for a digit
    # Patterns of other such numbers
    formats: tuple[Annotated[str, AfterValidator(_check_pattern)], ...] = ()
    near: str = ""  # a phrase that must occur shortly before the caption, or in it
    not_near: str = ""  # a phrase that must not occur there
    is_informative: bool = False  # nothing depends on it, so a doubt about it is no finding
    past: bool = False  # a date that cannot be in the future
    until: Phrases = ()  # for lines and names: the phrases below the last entry
    heading: Phrases = ()  # the first heading line that contains one of these is the value
    line_with: Phrases = ()  # without a caption, a line that contains one of these is the value
    box: str = ""  # the number of its box on the form
    alone: bool = False  # a name on its own line at the top of page 1 needs no caption
    is_large: bool = False  # a name in a larger type than the text is the value without a caption
    sentences: Phrases = ()  # phrases of running text with the place of the value, <value>
    is_version: bool = False  # the number behind "v" or "version" is the value
    version_of: str = ""  # the document whose version is the value, in the row of a table
    number_words: Phrases = ()  # beginnings of words before a sign such as "No" or "ID"
    is_reference: bool = False  # the committee's own number of the study is accepted too
    is_study_number: bool = False  # other texts may stand beside it, as its sponsor and its title
    roles: tuple[Role, ...] = ()  # of a date, by the words around it; an earlier one is better
    month_is_enough: bool = False  # a date may have no day, as "October 2023"
    # The date of the letter is the value, or takes its place if no other date is found.
    letter_date: Literal["", "value", "fallback"] = ""
    addressee: bool = False  # the name of the person to whom the letter is addressed
    is_surname_first: bool = False  # the form asks for the surname, a comma and the given names
    is_investigator: bool = False  # the words around a name say that it is the investigator's
    is_title: bool = False  # the title of the study, which may stand in the heading of page 1
    is_institution: bool = False  # the institution, which may stand in the head of page 1
    is_laboratory: bool = False  # the laboratory, which may be a line of its own
    bracketed: Phrases = ()  # captions in brackets, above which the parts of the value stand
    wraps: bool = False  # a text that may continue on the lines below
    name: str = ""  # of the stored value; by default the key of its table


@dataclass(frozen=True, config=_STRICT)
class Landmark:
    """A phrase that speaks for a document type, or against it if its weight is negative."""

    text: str | Phrases  # if there are several phrases, one of them is enough
    weight: int  # points
    where: Literal["anywhere", "heading", "title", "course"] = "anywhere"
    required: bool = False  # without it, the type is not recognised

    @cached_property
    def phrases(self) -> Phrases:
        """Return the wordings of the landmark, of which one is enough."""
        return (self.text,) if isinstance(self.text, str) else self.text

    @cached_property
    def letters(self) -> frozenset[str]:
        """Return the folded letters of all phrases, to test quickly whether a text has one."""
        return frozenset(map(fold_letters, self.phrases))


@dataclass(frozen=True, config=_STRICT)
class SignatureRule:
    """States who has to sign, and where, in words that fit into a sentence."""

    role: str  # "the investigator"
    section: str  # "section 11"
    labels: Phrases  # captions of the signature
    required: bool = True
    dated: bool = True  # the signature needs its own date
    is_letter: bool = False  # its signature may stand anywhere, or be left out of an email printout
    form: Phrases = ()  # signature fields of a fillable PDF
    signer: str = ""  # the field with the signer's name; "": any name in the document
    date_form: Phrases = ()  # form fields with the date of the signature


@dataclass(frozen=True, config=_STRICT)
class Validity:
    """States how long documents of a type are valid."""

    expires: str = ""  # the field with the printed expiry date
    max_age_months: int = Field(default=0, ge=0)  # 0: no maximum age
    from_: str = Field(default="", alias="from")  # the date field from which the age is counted
    printed_wins: bool = False  # the maximum age applies only if no expiry date is printed
    less_a_day: bool = False  # the maximum age ends one day earlier
    at_activation: bool = False  # valid for ever if it was valid when its site was activated
    warn_days: tuple[int, ...] = (90, 30, 7)  # days before the end at which to warn


@dataclass(frozen=True, config=_STRICT)
class Artifact:
    """A place in the TMF Reference Model. The id is permanent; the number may change."""

    artifact: Annotated[str, Field(pattern=r"^\d{2}\.\d{2}\.\d{2}$")]
    uid: Annotated[str, Field(pattern=r"^\d{3}$")]
    name: str
    tmf_rm_version: str = ""  # from the head of the file


@dataclass(frozen=True, config=_STRICT)
class DocumentType:
    """Describes a type of documents: how it is recognised, read, checked and filed."""

    slug: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")]
    name: str  # as a heading
    noun: str  # within a sentence
    tmf: Artifact | None  # None: its place in the Reference Model is not known
    dating: str  # the dating convention of the Reference Model for the artifact
    dated_by: str  # the field with that date
    landmarks: Annotated[tuple[Landmark, ...], Field(min_length=1)]
    fields: tuple[FieldSpec, ...]
    required: Phrases = ()  # fields without which the document is rejected
    expected: Phrases = ()  # fields without which QA reviews it
    filename: Phrases = ()  # words in a file name that suggest the type
    signature: SignatureRule | None = None
    validity: Validity = field(default_factory=Validity)
    contradictions: Phrases = ()  # phrases that cast doubt on the type, such as DRAFT
    us_dates: bool = False  # the form asks for mm/dd/yyyy, so 03/12/2026 is 12 March
    # 03/12/2026 is 3 December in this language, unless the country of the site or the document
    # itself says otherwise.
    day_first: bool = False
    language: str = ENGLISH  # of the phrases, see `ingestion.reading.languages`
    max_pages: int = Field(default=0, ge=0)  # of one document; 0: no limit
    mentions: Phrases = ()  # types whose titles its documents list, as a CV lists certificates
    per_person: bool = False
    # Whether a participant whom it names is one of the study, and not of a course.
    has_participants: bool = False
    names_site: bool = True  # a site number in it must be the number of its site
    names_protocol: bool = False  # a protocol number in it must be the study's
    names_version: bool = False  # a protocol version in it must be the study's current one
    printed: Phrases = ()  # other text of the blank form, which is never a value
    family: str = ""  # the name of the family whose keys it shares
    satisfies: Phrases = ()  # types that are needed of a site, in whose place it is accepted

    @cached_property
    def letters(self) -> frozenset[str]:
        """Return the folded letters of all phrases of its landmarks, to test a text quickly."""
        return frozenset().union(*(mark.letters for mark in self.landmarks))

    @cached_property
    def course_captions(self) -> Phrases:
        """Return the captions of the name of a course. "Course" alone is an ordinary word."""
        labels = (label for spec in self.fields if spec.name == "course" for label in spec.labels)
        return tuple(label for label in labels if " " in label)

    @cached_property
    def captions(self) -> str:
        """Return the text that a blank form prints beside its entries, as words between blanks."""
        signature = self.signature.labels if self.signature else ()
        labels = (label for spec in self.fields for label in spec.labels)
        return _in_words([*labels, *signature, *self.printed])

    @cached_property
    def headings(self) -> str:
        """Return the phrases by which the type is recognised, as words between blanks."""
        return _in_words(phrase for mark in self.landmarks for phrase in mark.phrases)

    def is_printed(self, value: str, *, is_name: bool = False) -> bool:
        """Return whether a text is part of the blank form, and so not a value.

        A name must not be part of a heading either: nobody is called Curriculum Vitae.
        """
        words = _in_words([value])
        return words in self.captions or (is_name and words in self.headings)


def _in_words(phrases: Iterable[str]) -> str:
    """Return the letters and digits of each phrase on a line, with blanks around every word."""
    return "\n".join(f" {' '.join(_WORD.findall(each.casefold()))} " for each in phrases)


class TypesFile(NamedTuple):
    """A file of document types that was read and not yet parsed."""

    name: str  # as it appears in error messages
    text: str


@dataclass(frozen=True, config=_STRICT)
class _Translations:
    """The phrases of a language, in tables with the keys of the tables in English."""

    day_first: bool = False
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    families: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, config=_STRICT)
class _Tables:
    """The tables of a file. `tmf_rm_version` of the first file applies to all types."""

    tmf_rm_version: str = ""
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    families: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, dict[str, Any]] = field(default_factory=dict)
    languages: dict[str, _Translations] = field(default_factory=dict)


@dataclass(frozen=True)
class _References:
    """The keys of a type's table that refer to other parts of the files."""

    fields: Phrases = ()
    tmf: dict[str, Any] = field(default_factory=dict)


def load_types(*sources: TypesFile) -> Mapping[str, DocumentType]:
    """Return the document types of some files, by their slugs.

    A table replaces a table of the same name in the files before it. Raises TypesError with all
    errors of the first table that has any.
    """
    files = [(source.name, _parse(_Tables, source)) for source in sources]
    version = files[0][1].tmf_rm_version
    specs = {
        key: _read(FieldSpec, f"{name}: fields.{key}", {"name": key, **table})
        for name, file in files
        for key, table in file.fields.items()
    }
    families = {key: table for _, file in files for key, table in file.families.items()}
    types = {}
    for name, file in files:
        for slug, table in file.types.items():
            where = f"{name}: types.{slug}"
            whole = _add_family(where, table, families)
            types[slug] = _read_type(where, slug, whole, specs, version)
    for slug, kind in types.items():
        for name in kind.satisfies:
            if name not in types:
                raise TypesError(f"types.{slug}: satisfies: there is no [types.{name}]")
    return MappingProxyType(types)


def load_translated_types(language: str, *sources: TypesFile) -> Mapping[str, DocumentType]:
    """Return the document types with the phrases of a language, by their slugs.

    `sources` are the files of `load_types`. The types are those for which the language has phrases.
    What the tables of a language contain takes the place of the English phrases, except captions:
    those in English follow, because many forms have both. Of dates, the words around them say
    nothing, because the rules know only English ones. Raises TypesError.
    """
    files = [(source.name, _parse(_Tables, source)) for source in sources]
    translations = _list_translations(language, files)
    version = files[0][1].tmf_rm_version
    fields = {key: table for _, file in files for key, table in file.fields.items()}
    families = {key: table for _, file in files for key, table in file.families.items()}
    tables = {key: table for _, file in files for key, table in file.types.items()}
    words: dict[str, dict[str, Any]] = {}  # of the fields
    for where, translation in translations:
        if unknown := translation.fields.keys() - fields.keys():
            raise TypesError(f"{where}: there is no [fields.{min(unknown)}]")
        words |= translation.fields
        for key, table in translation.families.items():
            families[key] = _translate(f"{where}: families.{key}", families.get(key), table)
    specs = {key: _translate_field(key, table, words.get(key, {})) for key, table in fields.items()}
    common = {
        "language": language,
        "day_first": any(translation.day_first for _, translation in translations),
        "us_dates": False,
    }
    found = {}
    for where, translation in translations:
        for slug, table in translation.types.items():
            place = f"{where}: types.{slug}"
            whole = _translate(place, tables.get(slug), table)
            whole = {**_add_family(place, whole, families), **common}
            found[slug] = _read_type(place, slug, whole, specs, version)
    return MappingProxyType(found)


def _list_translations(
    language: str, files: Iterable[tuple[str, _Tables]]
) -> list[tuple[str, _Translations]]:
    """Return the built-in phrases of a language and those of the files, each with its place."""
    translations = [
        (f"{name}: languages.{language}", file.languages[language])
        for name, file in files
        if language in file.languages
    ]
    built_in = LANGUAGES_FOLDER / f"{language}.toml"
    if built_in.exists():
        source = TypesFile(built_in.name, built_in.read_text(encoding="utf-8"))
        translations.insert(0, (source.name, _parse(_Translations, source)))
    return translations


def _translate(where: str, table: dict[str, Any] | None, words: dict[str, Any]) -> dict[str, Any]:
    """Return the table of a type or a family with the phrases of a language."""
    if table is None:
        raise TypesError(f"{where}: there is no such table in English")
    result = {**table, **words}
    if "contradictions" in table:  # in English, which those of the family do not replace
        result["contradictions"] = words.get("contradictions", ())
    if rule := table.get("signature"):
        labels = [*words.get("signature", {}).get("labels", ()), *rule.get("labels", ())]
        result["signature"] = {**rule, **words.get("signature", {}), "labels": labels}
    if printed := table.get("printed"):
        result["printed"] = [*words.get("printed", ()), *printed]
    return result


def _translate_field(key: str, table: dict[str, Any], words: dict[str, Any]) -> FieldSpec:
    labels = [*words.get("labels", ()), *table.get("labels", ())]
    plain = {name: value for name, value in table.items() if name not in _ENGLISH_KEYS}
    return _read(FieldSpec, f"fields.{key}", {"name": key, **plain, **words, "labels": labels})


def _parse(shape: type[T], source: TypesFile) -> T:
    """Return the tables of a file. Raises TypesError."""
    try:
        tables = tomli.loads(source.text)
    except tomli.TOMLDecodeError as error:
        raise TypesError(f"{source.name}: {error}") from error
    return _read(shape, source.name, tables)


def _add_family(
    where: str, table: dict[str, Any], families: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the table of a type with the keys of its family that it does not have itself.

    The landmarks of the family are added to those of the type.
    """
    name = table.get("family")
    if not name:
        return table
    if name not in families:
        raise TypesError(f"{where}: family: there is no [families.{name}]")
    shared = families[name]
    landmarks = [*shared.get("landmarks", ()), *table.get("landmarks", ())]
    return {**shared, **table, "landmarks": landmarks}


def _read_type(
    where: str, slug: str, table: dict[str, Any], specs: Mapping[str, FieldSpec], version: str
) -> DocumentType:
    references = _read(
        _References, where, {key: table[key] for key in ("fields", "tmf") if key in table}
    )
    unknown = [name for name in references.fields if name not in specs]
    if unknown:
        raise TypesError(f"{where}: fields: there is no [fields.{unknown[0]}]")
    resolved = {
        "slug": slug,
        "fields": [specs[name] for name in references.fields],
        "tmf": {**references.tmf, "tmf_rm_version": version} if references.tmf else None,
    }
    kind = _read(DocumentType, where, {**table, **resolved})
    for fault in _find_faults(kind):
        raise TypesError(f"{where}: {fault}")
    return kind


def _find_faults(kind: DocumentType) -> Iterator[str]:
    """Yield the errors that only show when several keys of a type are compared."""
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
            f"{key}: {name!r} is not one of its fields"
            for name in names
            if name and name not in known
        )
    total = sum(landmark.weight for landmark in kind.landmarks if landmark.weight > 0)
    if total < MIN_TYPE_SCORE:
        yield (
            f"landmarks: together their weight is {total}; "
            f"a type is recognised from {MIN_TYPE_SCORE} points"
        )
    if "course" not in known and any(mark.where == "course" for mark in kind.landmarks):
        yield "landmarks: where = 'course' needs the field 'course'"
    if kind.validity.max_age_months and not kind.validity.from_:
        yield "validity.from: name the date field from which the age is counted"


def _read(shape: type[T], where: str, table: dict[str, Any]) -> T:
    """Return a table as an instance of a class. Raises TypesError with all errors of the table."""
    try:
        return shape(**table)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}"
            for fault in error.errors()
        )
        raise TypesError(f"{where}: {faults}") from error


class Catalogue(NamedTuple):
    """The document types in force, with their version."""

    types: Mapping[str, DocumentType]
    version: str  # of rules and types: "2026.11.3+ab12cd34" with a file
    fault: str = ""  # why the file was not used; then only the built-in types are there
    sources: tuple[TypesFile, ...] = ()  # the files that were used


def load_catalogue(path: str = "") -> Catalogue:
    """Return the built-in types and, if `path` is given, the types of that file."""
    built_in = TypesFile(
        "types.toml", Path(__file__).with_name("types.toml").read_text(encoding="utf-8")
    )
    if not path:
        return Catalogue(load_types(built_in), VERSION, sources=(built_in,))
    try:
        content = Path(path).read_bytes()
        own = TypesFile(path, content.decode())
        types = load_types(built_in, own)
        for language in _parse(_Tables, own).languages:
            load_translated_types(language, built_in, own)
    except (OSError, UnicodeDecodeError, TypesError) as error:
        return Catalogue(load_types(built_in), VERSION, f"{error}", (built_in,))
    digest = hashlib.sha256(content).hexdigest()
    return Catalogue(types, f"{VERSION}+{digest[:8]}", sources=(built_in, own))


@cache
def find_types(language: str) -> Mapping[str, DocumentType]:
    """Return the types of documents in a language, which are read when the first one arrives.

    English types are returned for English, for an unknown language, and for a language without
    phrases.
    """
    if language in {ENGLISH, ""}:
        return TYPES
    return load_translated_types(language, *_CATALOGUE.sources) or TYPES


@cache
def find_fields(language: str) -> Mapping[str, FieldSpec]:
    """Return all fields by their keys, with their captions in a language and in English.

    In an unknown language (""), they have the captions of all languages of the built-in rules.
    """
    files = [(source.name, _parse(_Tables, source)) for source in _CATALOGUE.sources]
    tables = {key: table for _, file in files for key, table in file.fields.items()}
    words: dict[str, dict[str, Any]] = {}
    for each in [language] if language else sorted(TRANSLATED_LANGUAGES):
        for _, translation in _list_translations(each, files):
            for key, table in translation.fields.items():
                labels = [*words.get(key, {}).get("labels", ()), *table.get("labels", ())]
                words[key] = {**table, "labels": list(dict.fromkeys(labels))}
    return MappingProxyType(
        {key: _translate_field(key, table, words.get(key, {})) for key, table in tables.items()}
    )


def name_rules(model_sha256: str) -> str:
    """Return the version of all rules with a model of document types, stored with each decision.

    It is "2026.11.3+boundaries-89ab4567+values-4567cdef+model-0123abcd". With a file of types, its
    digest comes before "+boundaries".
    """
    built_in = f"boundaries-{BOUNDARY_MODEL_SHA256[:8]}+values-{VALUE_MODEL_SHA256[:8]}"
    return f"{TYPES_VERSION}+{built_in}+model-{model_sha256[:8]}"


def parse_doc_id(doc_id: str) -> tuple[str, str]:
    """Return the type and the person that the doc_id of an upload contains.

    The person is "" if the type is not per person. The doc_ids of a portal's document and of a part
    of a file contain neither: their sender chose them, so they are not to be parsed.
    """
    declared, _, person = doc_id.partition(".")
    kind = TYPES.get(declared)
    is_personal = kind is not None and kind.per_person
    return declared, person.replace("-", " ").title() if is_personal else ""


_CATALOGUE = load_catalogue(os.environ.get(TYPES_FILE_SETTING, ""))
TYPES, TYPES_VERSION, TYPES_FILE_FAULT = _CATALOGUE[:3]
BOUNDARY_MODEL_SHA256 = hashlib.sha256(BOUNDARY_MODEL_FILE.read_bytes()).hexdigest()
VALUE_MODEL_SHA256 = hashlib.sha256(VALUE_MODEL_FILE.read_bytes()).hexdigest()
MODEL_SHA256 = hashlib.sha256(MODEL_FILE.read_bytes()).hexdigest()
RULES_VERSION = name_rules(MODEL_SHA256)  # with the built-in model
