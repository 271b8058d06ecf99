"""Reads the regulatory requirements, once, from `requirements.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Responsible(StrEnum):
    """Lists the parties that may be responsible for a requirement."""

    PRODUCT = "product"
    USER = "user"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ValidationRequirement:
    """Describes a requirement with its sources, and the party that is responsible for it."""

    id: str
    asks: str
    sources: tuple[str, ...]  # the regulations that ask for it
    by: Responsible
    note: str = ""  # what the user has to do
    open: str = ""  # the reason why no test proves it yet

    @property
    def needs_test(self) -> bool:
        """Return whether a test has to prove the requirement: the user is not alone responsible."""
        return self.by is not Responsible.USER


def _read_requirements() -> dict[str, ValidationRequirement]:
    text = Path(__file__).with_name("requirements.toml").read_text(encoding="utf-8")
    return {
        name: ValidationRequirement(
            name,
            row["asks"],
            tuple(row["from"]),
            Responsible(row["by"]),
            note=row.get("note", ""),
            open=row.get("open", ""),
        )
        for name, row in tomllib.loads(text).items()
    }


REQUIREMENTS: Mapping[str, ValidationRequirement] = _read_requirements()
