"""Defines the schema versions of submissions: what a document of each version may declare.

Each version has a model of its own, and all of them become the same internal representation. The
version is read first: a document of an unsupported version is refused before anything else of it
is validated. Version 2.1 adds the language of a document, its version, and the role of its person.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from ingestion.reading.languages import LANGUAGE_CODES
from ingestion.rules.checks.submission import SCHEMA_VERSIONS

MAX_NAME_CHARACTERS = 120  # of an uploaded file, whose doc_id contains a part of it
MAX_STORED_NAME_CHARACTERS = 80  # of a document of a manifest: `Document.person`
MAX_ROLE_CHARACTERS = 80
MAX_VERSION_CHARACTERS = 40
MAX_NAMED_CHARACTERS = 24  # of a value that a message repeats
Model = TypeVar("Model")

# The ledger contains text in Unicode normal form C. File systems and keyboards write other forms.
# It is the last annotation of a field: a pattern behind it would be missing in the JSON schema.
NormalizedText = BeforeValidator(
    lambda value: unicodedata.normalize("NFC", value) if isinstance(value, str) else value
)
# Text without control characters: PostgreSQL stores no NUL, and a name has no line breaks.
PRINTABLE_PATTERN = r"^[^\x00-\x1f\x7f]*$"
PersonName = Annotated[
    str, Field(max_length=MAX_NAME_CHARACTERS, pattern=PRINTABLE_PATTERN), NormalizedText
]


class UnsupportedSchema(Exception):
    """A submission has a schema version that is not supported. The message is for its sender."""

    def __init__(self, version: object) -> None:
        supported = " or ".join(map(repr, SCHEMA_VERSIONS))
        named = repr(version)[:MAX_NAMED_CHARACTERS]
        super().__init__(f"The schema version {named} is not supported. Send {supported}.")


@dataclass(frozen=True, slots=True)
class DeclaredDetails:
    """Contains what a sender declared beside the type and the person. "" was not declared."""

    person_role: str = ""  # the role of the person in the study
    language: str = ""  # by its name in `reading.languages`
    version: str = ""  # of the document


NOTHING_DECLARED = DeclaredDetails()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestLine:
    """Describes a document to import, as any schema version declares it."""

    site_id: str
    doc_id: str
    url: str
    schema_version: str
    document_type: str = ""
    sha256: str = ""
    filename: str = ""
    packet: str = ""
    person: str = ""
    details: DeclaredDetails = NOTHING_DECLARED


class DeclaredPerson(BaseModel):
    """The person whose document it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[PersonName, Field(min_length=1)]
    role: Annotated[
        str,
        Field(
            max_length=MAX_ROLE_CHARACTERS,
            pattern=PRINTABLE_PATTERN,
            description="In the study, such as principal investigator.",
        ),
        NormalizedText,
    ] = ""


def _read_plain_name(value: Any) -> Any:
    """Return a name that is given as text as an object, and no name as None."""
    if isinstance(value, str):
        return {"name": value} if value.strip() else None
    return value


PersonOrName = Annotated[
    DeclaredPerson | None,
    BeforeValidator(_read_plain_name, json_schema_input_type=PersonName | DeclaredPerson | None),
]


class StoredPerson(DeclaredPerson):
    """The person whose document it is, whose name is stored with a document of a manifest."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=MAX_STORED_NAME_CHARACTERS, pattern=PRINTABLE_PATTERN),
        NormalizedText,
    ]


def _find_declared_language(code: str) -> str:
    """Return the name of a language in `NAMES`. Raises ValueError for an unknown code."""
    if code and code not in LANGUAGE_CODES:
        known = ", ".join(LANGUAGE_CODES)
        named = repr(code)[:MAX_NAMED_CHARACTERS]
        raise ValueError(f"{named} is not a language that can be declared. Send one of: {known}.")
    return LANGUAGE_CODES.get(code, "")


Language = Annotated[
    str,
    Field(
        max_length=20,
        description="The language of the document, by its code of ISO 639-1 (fr) or 639-2 (fra); "
        "Chinese by zh-Hans and zh-Hant, or chi_sim and chi_tra. It is recorded and returned as "
        "fra or chi_sim, as OCR_LANGUAGES names it.",
        json_schema_extra={"enum": ["", *LANGUAGE_CODES]},
    ),
    AfterValidator(_find_declared_language),
]
DocumentVersion = Annotated[
    str,
    Field(
        max_length=MAX_VERSION_CHARACTERS,
        pattern=PRINTABLE_PATTERN,
        description="The version of the document, such as 3.0.",
    ),
    NormalizedText,
]


class ManifestLineV20(BaseModel):
    """A document of a manifest, in schema version 2.0."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    schema_version: Literal["v2.0"]
    site_id: Annotated[str, Field(min_length=1, max_length=60), NormalizedText]
    doc_id: Annotated[
        str, Field(min_length=1, max_length=120, pattern=r"^[\w.@:+ -]+$"), NormalizedText
    ]
    url: Annotated[str, Field(min_length=1, max_length=2000, pattern=PRINTABLE_PATTERN)]
    document_type: Annotated[str, Field(max_length=40)] = ""
    sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    filename: Annotated[str, Field(max_length=255, pattern=PRINTABLE_PATTERN)] = ""
    packet: Annotated[str, Field(max_length=120, pattern=PRINTABLE_PATTERN)] = ""

    def as_line(self) -> ManifestLine:
        """Return the document as all versions describe it."""
        return ManifestLine(**self.model_dump())


class ManifestLineV21(ManifestLineV20):
    """A document of a manifest, in schema version 2.1."""

    schema_version: Literal["v2.1"]  # type: ignore[assignment] # each version has its own
    language: Language = ""
    person: StoredPerson | None = None
    version: DocumentVersion = ""

    def as_line(self) -> ManifestLine:
        """Return the document as all versions describe it."""
        own = self.model_dump(exclude={"language", "person", "version"})
        role = self.person.role if self.person else ""
        return ManifestLine(
            **own,
            person=self.person.name if self.person else "",
            details=DeclaredDetails(role, self.language, self.version),
        )


MANIFEST_SCHEMAS: Mapping[str, type[ManifestLineV20]] = MappingProxyType(
    {"v2.0": ManifestLineV20, "v2.1": ManifestLineV21}
)


def choose_schema(schemas: Mapping[str, Model], content: Any) -> Model:
    """Return the model of the schema version that a submission names.

    Without a version, it is the latest one, whose model says what is missing. Raises
    UnsupportedSchema.
    """
    if not isinstance(content, dict) or "schema_version" not in content:
        return schemas[SCHEMA_VERSIONS[-1]]
    version = content["schema_version"]
    if not isinstance(version, str) or version not in schemas:
        raise UnsupportedSchema(version)
    return schemas[version]
