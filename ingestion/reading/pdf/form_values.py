"""Reads the values of a form by field name, with pypdf.

This module is imported only for a document with a form.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pypdf

SIGNATURE_FIELD_TYPE = "/Sig"


def read_form_values(path: Path) -> Mapping[str, str]:
    """Return the values of all named fields that have one. Return {} if pypdf fails.

    pypdf's own limits bound the time and the memory.
    """
    try:
        with pypdf.PdfReader(path, strict=False) as reader:
            if reader.is_encrypted:
                reader.decrypt("")
            fields = reader.get_fields() or {}
            # Signature fields are validated (`digital_signatures`) and not read as text.
            values = {
                name: field.value
                for name, field in fields.items()
                if field.field_type != SIGNATURE_FIELD_TYPE
            }
    except Exception:  # noqa: BLE001 - pypdf raises eight unrelated types on hostile input
        return {}
    # Names become plain strings, because pypdf's own class would be unpickled in the parent.
    texts = {str(name): _as_text(value) for name, value in values.items()}
    return {name: text for name, text in texts.items() if text}


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    if isinstance(value, pypdf.generic.NameObject):
        return "" if value == "/Off" else value.removeprefix("/")
    return value.strip() if isinstance(value, str) else ""
