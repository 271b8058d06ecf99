"""Recognises scripts of PDF forms that can do no harm, from their text alone. Nothing is run.

Blank forms have two kinds of them. The first formats and checks the entries of fields with
Acrobat's own functions. The second is what Adobe LiveCycle Designer writes into each form, the
official Form FDA 1572 among them: it compares the version of the viewer, and offers the update that
Adobe's web site has. A script is recognised only if nothing else is in it.
"""

import re

import pikepdf

MAX_CHARACTERS = 6_000  # of a script; a longer one is not examined
MAX_STORED_BYTES = 4_000  # of a script in a stream, before it is decompressed

# Calls of the functions with which Acrobat formats and checks the entries of a form (JavaScript
# for Acrobat API Reference, "AF" functions), with plain values as arguments, and nothing else.
_STRING = r"""(?:"(?:[^"\\\r\n]|\\u[0-9A-Fa-f]{4})*+"|'(?:[^'\\\r\n]|\\u[0-9A-Fa-f]{4})*+')"""
_VALUE = rf"(?:-?(?:\d++(?:\.\d*+)?|\.\d++)|true|false|null|{_STRING})"
_VALUES = rf"(?:\s*+{_VALUE}\s*+(?:,\s*+{_VALUE}\s*+)*+)?"
_ARGUMENT = rf"(?:{_VALUE}|new\s++Array\s*+\({_VALUES}\))"
_FORMAT_CALL = (
    r"AF(?:(?:Number|Percent|Date|Time|Special)_(?:Format|Keystroke)(?:Ex)?"
    r"|Range_Validate|Simple_Calculate)"
    rf"\s*+\((?:\s*+{_ARGUMENT}\s*+(?:,\s*+{_ARGUMENT}\s*+)*+)?\)\s*+;?\s*+"
)
_FORMAT_CALLS_ONLY = re.compile(rf"\s*+(?:{_FORMAT_CALL})++")

# The version check of LiveCycle Designer ES to ES4. `ADBE` is its own object; an address in it has
# to be one of Adobe's, and only such an address is opened, when the person confirms it.
_NAME = r"(?:ADBE\.\w++|this\.ADBE|app\.\w++|xfa_installed|xfa_version)"
_TEXT = r'"[^"\\\r\n]*+"'
_ADDRESS = r"ADBE\.\w+_URL \+ ADBE\.SYSINFO"
_COMPONENT_FACT = r'(?:cDesc: ADBE\.\w++|cVer:"[\d.]++")'
_TERM = (
    rf'(?:typeof\({_NAME}\) == "undefined"|app\.alert\(ADBE\.\w++, 1, 1\) == 1'
    rf"|{_NAME} (?:==|!=|<) (?:{_TEXT}|true|false|[\d.]++))"
)
_VERSION_CHECK_PIECE = "|".join(
    (
        rf"if \({_TERM}(?: (?:\|\||&&) {_TERM})*+\)",
        r"else|[{}]",
        r"this\.ADBE = new Object\(\);",
        r'ADBE\.\w+_URL = "https?://(?:[a-z]+\.)?adobe\.com/[\w/.-]*+";',
        r'ADBE\.SYSINFO = "\?p="(?: \+ (?:app\.\w++|ADBE\.\w++|"[&=\w]*+"))*+;',
        rf"ADBE\.(?!\w*URL\b|SYSINFO\b)\w++ = (?:{_TEXT}|true|false|[\d.]++);",
        rf"(?:this\.getURL|app\.launchURL)\({_ADDRESS}(?:, (?:true|false))?\);",
        rf'app\.findComponent\({{cType:"\w+", cName:"\w+", {_COMPONENT_FACT}}}\);',
        rf"app\.response\({{cQuestion: ADBE\.\w++, cDefault: {_ADDRESS}, cTitle: ADBE\.\w++}}\);",
    )
)
_VERSION_CHECK_ONLY = re.compile(rf"(?:(?:{_VERSION_CHECK_PIECE}) ?+)++")


def is_harmless_script(script: object) -> bool:
    """Return whether a script, as a PDF has it in /JS, only formats fields or checks a version."""
    if isinstance(script, pikepdf.Stream):
        text = _read_stream(script)
    else:
        text = str(script) if isinstance(script, pikepdf.String) else ""
    if not 0 < len(text) <= MAX_CHARACTERS:
        return False
    if _FORMAT_CALLS_ONLY.fullmatch(text) is not None:
        return True
    return _VERSION_CHECK_ONLY.fullmatch(" ".join(text.split()) + " ") is not None


def _read_stream(script: pikepdf.Stream) -> str:
    """Return the text of a script in a stream, or "" if it is long or not plain ASCII."""
    try:
        if len(script.read_raw_bytes()) > MAX_STORED_BYTES:
            return ""
        return script.read_bytes().decode("ascii")
    except (pikepdf.PdfError, UnicodeDecodeError, RuntimeError, ValueError):
        return ""
