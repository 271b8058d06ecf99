"""The values of a form by name, as pypdf reads them. Imported where a document has a form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pypdf

SIGNATURE = "/Sig"  # the type of a signature field


def form_values(path: Path) -> Mapping[str, str]:
    """Every named field that has a value. pypdf's own limits bound the time and the memory."""
    try:
        with pypdf.PdfReader(path, strict=False) as reader:
            if reader.is_encrypted:
                reader.decrypt("")
            fields = reader.get_fields() or {}
            # What stands in a signature field is validated (`digital_signatures`), not read.
            values = {
                name: field.value for name, field in fields.items() if field.field_type != SIGNATURE
            }
    except Exception:  # noqa: BLE001 - pypdf raises eight unrelated types on hostile input
        return {}
    # pypdf's names are a class of its own, which would be unpickled in the parent.
    found = {str(name): _as_text(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value}


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    if isinstance(value, pypdf.generic.NameObject):
        return "" if value == "/Off" else value.removeprefix("/")
    return value.strip() if isinstance(value, str) else ""
