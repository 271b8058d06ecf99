"""Reads JSON that has one meaning only: each name once in an object, and finite numbers.

RFC 8259 does not define what a repeated name means, so two programs may read different values from
the same bytes. Such input is refused, with the line on which the object begins.
"""

import json
import math
from json.decoder import JSONObject  # type: ignore[attr-defined] # not in typeshed
from json.scanner import py_make_scanner  # type: ignore[attr-defined] # not in typeshed
from typing import Any, NoReturn

MAX_DIGITS = 300  # of one number


class InvalidJSON(ValueError):
    """The text is not JSON, or not JSON that can be read in one way only."""

    def __init__(self, message: str, line: int, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line  # of the text, from 1; 0 if it is not known
        self.column = column  # from 1; 0 if it is not known


def loads(text: str) -> Any:
    """Return the value of a JSON text.

    Raises InvalidJSON for text that is not JSON, names that are given twice in one object, NaN,
    infinite numbers and numbers of more than MAX_DIGITS digits, characters that Unicode does not
    have (lone surrogates), and values that are nested too deeply.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_int=_parse_integer,
            parse_float=_parse_finite,
            parse_constant=_refuse_constant,
        )
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError
    except json.JSONDecodeError as error:
        raise InvalidJSON(error.msg, error.lineno, error.colno) from None
    except _RepeatedName as error:
        message = f'the name "{error.name}" is given twice in one object'
        raise InvalidJSON(message, _line_of_repeated_name(text)) from None
    except RecursionError:
        raise InvalidJSON("the values are nested too deeply", 0) from None
    except UnicodeEncodeError:
        raise InvalidJSON("a character is half a surrogate pair", 0) from None
    except ValueError as error:
        raise InvalidJSON(str(error), 0) from None
    return value


class _RepeatedName(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.begins_at: int | None = None  # where its object begins in the text


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _RepeatedName(name[:100])
        found[name] = value
    return found


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _parse_finite(digits: str) -> float:
    if len(digits) > MAX_DIGITS or not math.isfinite(number := float(digits)):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _line_of_repeated_name(text: str) -> int:
    """Return the line on which the object with the repeated name begins, or 0 if it is not known.

    It decodes the text once more with Python's slower scanner, which knows where objects begin.
    """

    class Decoder(json.JSONDecoder):
        def __init__(self) -> None:
            super().__init__(object_pairs_hook=_build_object)
            self.parse_object = self._parse_object
            self.scan_once = py_make_scanner(self)

        def _parse_object(self, start: tuple[str, int], *rest: Any) -> Any:
            try:
                return JSONObject(start, *rest)
            except _RepeatedName as error:
                if error.begins_at is None:
                    error.begins_at = start[1]
                raise

    try:
        Decoder().decode(text)
    except _RepeatedName as error:
        return text.count("\n", 0, error.begins_at) + 1
    except RecursionError:  # the slower scanner allows fewer levels
        return 0
    raise AssertionError("the name was repeated when it was read first")
