"""Reads the truth about the files of a corpus, and the criteria of an assessment.

A truth file is JSON: a list of files, or an object with `files` and `criteria`. Each file names its
documents, their pages and types, and some of the values that are printed in them
(docs/assessment.md).
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ingestion.rules.document_types import TYPES

MAX_NAMED_ERRORS = 5  # of a truth file that is refused
OTHER = "other:"  # the beginning of a type that is none of the supported ones

# Further types that are right, by the true type and by words of its subtype; "" applies to a
# document whose subtype is not known. A truth that was written before a type was divided stays
# usable.
TYPES_BY_SUBTYPE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gcp-certificate": {
        "human subjects": (
            "human-subjects-certificate",
            "social-behavioral-certificate",
            "data-specimens-certificate",
        ),
        "research ethics": ("human-subjects-certificate",),
        "responsible conduct": ("rcr-certificate",),
    },
    "irb-approval": {
        # Each of them permits the research. A refusal or a request for changes is never right.
        "": ("irb-exemption", "irb-amendment-approval", "irb-continuing-review"),
        "exempt": ("irb-exemption",),
        "amendment": ("irb-amendment-approval",),
        "modification": ("irb-amendment-approval",),
        "continuing review": ("irb-continuing-review",),
        "renewal": ("irb-continuing-review",),
        "acknowledg": ("irb-acknowledgement",),
        "request for changes": ("irb-changes-requested",),
        "changes requested": ("irb-changes-requested",),
        "disapproval": ("irb-disapproval",),
    },
}

State = Literal["ARCHIVED", "REJECTED", "IN_REVIEW", "HELD"]


class TruthError(Exception):
    """The truth file or the criteria cannot be used. The message names the entries and fields."""


class Criteria(BaseModel):
    """The criteria, fixed before an assessment. Shares are from 0 to 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Of documents with a supported type: those that got it, and that had it among three candidates.
    min_recognised: float = Field(default=0.9, ge=0, le=1)
    min_recognised_in_three: float = Field(default=0.97, ge=0, le=1)
    # Documents of no supported type that were given one.
    max_false_types: int = Field(default=0, ge=0)
    # Documents that were filed or rejected, although the truth has another state.
    max_false_acceptances: int = Field(default=0, ge=0)
    max_false_rejections: int = Field(default=0, ge=0)
    # Printed values of documents with the right type: read exactly, and wrong without doubt.
    min_values_exact: float = Field(default=0.95, ge=0, le=1)
    max_values_wrong: float = Field(default=0.005, ge=0, le=1)
    min_boundaries_f1: float = Field(default=0.98, ge=0, le=1)

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Self:
        """Return the criteria of texts such as "min_recognised=0.95". Raises TruthError."""
        given = {}
        for text in settings:
            name, separator, value = text.partition("=")
            if not separator:
                raise TruthError(f"{text!r} is not NAME=VALUE")
            given[name.strip()] = value.strip()
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise TruthError(_describe_faults(error)) from error

    def tightened_by(self, other: Self) -> Self:
        """Return the stricter value of each criterion that both state, else the stated one.

        So neither a truth file nor the settings can weaken what the other one demands.
        """
        stated = {name: getattr(self, name) for name in self.model_fields_set}
        for name in other.model_fields_set:
            value = getattr(other, name)
            choose = max if name.startswith("min_") else min
            stated[name] = choose(stated[name], value) if name in stated else value
        return self.model_validate(stated)


# A null in JSON stands for no values.
Values = Annotated[Mapping[str, str], BeforeValidator(lambda values: values or {})]


class TrueDocument(BaseModel):
    """A document within a file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pages: tuple[int, int]  # the first and the last, from 1
    type: str  # the id of a type, or "other:" and what it is
    also_ok: str | None = None  # a second type that is right too
    subtype: str | None = None  # see TYPES_BY_SUBTYPE: human subjects, exempt, ...
    values: Values = Field(default_factory=dict)  # as printed, by the names of fields
    state: State | None = None  # that filing has to give; None if it is not known

    @property
    def right_types(self) -> frozenset[str]:
        """Return the types that are right; empty if the document has no supported type."""
        if self.type.startswith(OTHER):
            return frozenset()
        subtype = (self.subtype or "").casefold()
        by_subtype = (
            slug
            for words, types in TYPES_BY_SUBTYPE.get(self.type, {}).items()
            if (words in subtype if words else not subtype)
            for slug in types
        )
        accepted_for_it = (kind.slug for kind in TYPES.values() if self.type in kind.satisfies)
        named = (self.type, self.also_ok, *by_subtype, *accepted_for_it)
        return frozenset(slug for slug in named if slug)


class TrueFile(BaseModel):
    """A file. It is one document with a type, or it has a list of documents."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    file: str  # the path within the corpus
    pages: int = Field(default=1, ge=0)
    language: str = ""
    type: str = ""
    also_ok: str | None = None
    subtype: str | None = None
    values: Values = Field(default_factory=dict)
    state: State | None = None
    # What a file contains whose boundaries are not known. It is left out of the boundaries.
    bundle: list[str] | str | None = None
    documents: tuple[TrueDocument, ...] = ()

    @property
    def true_documents(self) -> tuple[TrueDocument, ...]:
        """Return the documents of the list, or the whole file as one document if it has a type."""
        if self.documents or not self.type:
            return self.documents
        whole = TrueDocument(
            pages=(1, max(self.pages, 1)),
            type=self.type,
            also_ok=self.also_ok,
            subtype=self.subtype,
            values=self.values,
            state=self.state,
        )
        return (whole,)


class Truth(BaseModel):
    """The content of a truth file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[TrueFile, ...]
    criteria: Criteria = Criteria()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the content of a truth file. Raises TruthError."""
        try:
            content: Any = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise TruthError(f"{path} cannot be read: {error}") from error
        try:
            return cls.model_validate({"files": content} if isinstance(content, list) else content)
        except ValidationError as error:
            raise TruthError(f"{path} is not a truth file: {_describe_faults(error)}") from error


def _describe_faults(error: ValidationError) -> str:
    faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    more = len(faults) - MAX_NAMED_ERRORS
    return "; ".join(faults[:MAX_NAMED_ERRORS]) + (f"; and {more} more" if more > 0 else "")
