"""Describes in sentences what is wrong with the fields of a request, and how to correct it.

pydantic finds the faults. Its own messages name types of Python, and do not say what to do.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

_EXAMPLE_PERSON = '{"name": "Ana Ruiz"}'
# By pydantic's types of errors. `{name}` is a value of the context of the error.
_SENTENCES: Mapping[str, str] = {
    "missing": "This field is missing. Add it.",
    "extra_forbidden": "There is no field of this name here. Remove it, or correct its name.",
    "string_type": "Send text in quotation marks.",
    "string_too_short": "Write at least {min_length} characters.",
    "string_too_long": "Write at most {max_length} characters.",
    "int_type": "Send a whole number.",
    "int_parsing": "Send a whole number.",
    "int_from_float": "Send a whole number.",
    "bool_type": "Send true or false.",
    "bool_parsing": "Send true or false.",
    "date_type": "Send a date, such as 2026-11-26.",
    "date_from_datetime_parsing": "Send a date, such as 2026-11-26.",
    "datetime_type": "Send a time, such as 2026-11-26T08:30:00Z.",
    "datetime_parsing": "Send a time, such as 2026-11-26T08:30:00Z.",
    "datetime_from_date_parsing": "Send a time, such as 2026-11-26T08:30:00Z.",
    "timezone_aware": "State the time zone, as in 2026-11-26T08:30:00Z.",
    "literal_error": "Send one of these values: {expected}.",
    "enum": "Send one of these values: {expected}.",
    "greater_than_equal": "Send {ge} or more.",
    "less_than_equal": "Send {le} or less.",
    "list_type": "Send a list.",
    "too_short": "Send a list with at least {min_length} item(s).",
    "dict_type": "Send a JSON object.",
    "model_type": "Send a JSON object.",
    "model_attributes_type": "Send a JSON object.",
}
_OBJECTS = {"model_type", "model_attributes_type", "dict_type"}
# Faults of a value that a later schema version may accept.
_FAULTS_OF_VERSION = {"extra_forbidden", "string_type"}
_PATTERNS: Mapping[str, str] = {
    r"^[^\x00-\x1f\x7f]*$": "Remove line breaks and other control characters.",
    r"^[^\x00]*$": "Remove the NUL characters.",
    r"^[0-9a-f]{64}$": "Send 64 lower-case hexadecimal digits.",
    r"^([0-9a-f]{64})?$": "Send 64 lower-case hexadecimal digits.",
}


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Return a sentence about one of pydantic's errors that says what to write instead."""
    kind, context = fault["type"], fault.get("ctx", {})
    path = fault["loc"]
    if kind in _OBJECTS and path and path[-1] == "person":
        return f"Send a JSON object with the name of the person, as in {_EXAMPLE_PERSON}."
    if kind == "string_too_short" and context["min_length"] == 1:
        return "This field is empty. Write at least 1 character."
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        return _PATTERNS.get(pattern, f"Send a value that matches the pattern {pattern}.")
    if kind == "value_error":
        return str(context.get("error", fault["msg"]))
    return _SENTENCES[kind].format(**context) if kind in _SENTENCES else f"{fault['msg']}."


def describe_faults(
    error: ValidationError,
    value: Any,
    model: type[BaseModel],
    schemas: Mapping[str, type[BaseModel]],
) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yield the path and a sentence of each fault that `model` found in a value.

    `schemas` are the models of the schema versions of which `model` is one, or empty. A fault that
    another version does not find is described by that version.
    """
    for fault in error.errors():
        path = fault["loc"]
        if fault["type"] in _FAULTS_OF_VERSION and (
            version := _find_accepting_version(schemas, model, value, path)
        ):
            used = next(name for name, each in schemas.items() if each is model)
            yield path, f"Schema version {used} does not permit this. Send it with {version}."
        else:
            yield path, describe_fault(fault)


def _find_accepting_version(
    schemas: Mapping[str, type[BaseModel]],
    model: type[BaseModel],
    value: Any,
    path: tuple[int | str, ...],
) -> str:
    """Return another schema version that accepts what is at a path of a value, or ""."""
    for version, other in schemas.items():
        if other is model:
            continue
        try:
            other.model_validate(value | {"schema_version": version})
        except ValidationError as error:
            if any(fault["loc"][: len(path)] == path for fault in error.errors()):
                continue
        return version
    return ""
