"""Every sentence that the Python code shows to people can be translated.

Texts for programs stay in English: problem details and descriptions of the API, metrics, logs,
system checks, commands, headings of CSV files, and what is written into the ledger.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
SOURCES = sorted(
    path
    for package in ("api", "audit", "config", "ingestion", "sites", "web")
    for path in (ROOT / package).rglob("*.py")
    if "migrations" not in path.parts
)
PAGES = [path for path in SOURCES if path.is_relative_to(ROOT / "web") or "admin" in path.stem]
# Modules whose sentences are shown on pages, in alarms and in PDFs (docs/adr/0039).
LEDGER_TEXTS = [
    *(
        path
        for package in ("audit/export", "audit/signing", "audit/verification")
        for path in sorted((ROOT / package).rglob("*.py"))
        # For programs, and for the commands of system administrators.
        if path.stem not in {
            "checkpoint_scheduler", "clock", "fhir", "key_rotation", "timeline", "tlog_policy",
            "verify_trail",
        }
    ),
    ROOT / "ingestion/certified_copies/certificate.py",
    ROOT / "ingestion/operations/finding_check.py",
    ROOT / "ingestion/operations/reconciliation.py",
    ROOT / "ingestion/review/signature_payload.py",
]  # fmt: skip

WORD = re.compile(r"[^\W\d_]{2,}")
# A capitalised word or two words in a row: not a name, a path or a query.
SENTENCE = re.compile(r"^[A-Z][a-z]{2,}$|[^\W\d_]{2,},? [a-z(]")
MARKUP = re.compile(r"<[^>]*>|&\w+;")
SQL = re.compile(r"\s*(SELECT|DELETE|FROM|replace\()")

GETTEXT = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext"}
# The message of a BadRequest is for the author of the script that sent the request. An Error is a
# system check, which administrators read in English.
UNREAD = GETTEXT | {"BadRequest", "Error", "TypeVar"}
LOGGERS = {"log", "logger", "_log", "_logger"}

# Arguments that people read, by the name of the function and the position, or of the argument.
READ_POSITIONS = {
    "HttpResponse": 0, "HttpResponseForbidden": 0, "PermissionDenied": 0, "RegexValidator": 1,
    "ValidationError": 0,
    # Exceptions whose message a page shows.
    "BadNote": 0, "CannotVerify": 0, "ExportRefused": 0, "NotDecided": 0, "QuotaExceeded": 0,
    "RedeclarationRefused": 0, "RetryRefused": 0, "SpoolFull": 0,
    # Results of the verification of the ledger.
    "ChainBreak": 1, "VerificationNotice": 0, "expect": 1, "expect_each": 1,
    "add_error": 1, "add_message": 2, "message_user": 1,
    "debug": 1, "error": 1, "info": 1, "success": 1, "warning": 1,  # of messages
}  # fmt: skip
OF_MESSAGES = {"debug", "error", "info", "success", "warning"}
READ_KEYWORDS = {
    "empty_label", "error_messages", "help_text", "label", "verbose_name", "verbose_name_plural",
    "violation_error_message",
}  # fmt: skip
READ_ATTRIBUTES = {
    "fieldsets", "index_title", "search_help_text", "short_description", "site_header",
    "site_title", "title", "verbose_name", "verbose_name_plural",
}  # fmt: skip

# Strings of pages that look like sentences and are none, or are for programs.
NO_SENTENCE = {
    "Authorization", "User",  # a header; a type for the type checker
    "Site", "Name", "Country", "Study", "In order", "Needed", "As of",  # headings of a CSV file
    "counted failures", "review of accounts and roles",  # written into the ledger
    "there is no key: nothing is signed", "broken at ",  # figures of `manage.py status`
    "Versions",  # a key in an answer of S3
    "sha256sum original/* trail.ndjson document.json",  # a command
    "^It had in hand: (.*)$", r"\bchunk (\d+)",  # patterns for a log
}  # fmt: skip
# Names that are the same in every language.
UNTRANSLATED = {"SHA-256", "SiteLedger"}


class Literals(ast.NodeVisitor):
    """Collects the literals of a module that people read, each with its line."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[int, str]] = []
        self._constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.visit(tree)

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node)
        position = READ_POSITIONS.get(name)
        is_read = position is not None and len(node.args) > position
        if is_read and (name not in OF_MESSAGES or owner(node) == "messages"):
            self._note(node.args[position])
        if owner(node) == "models" and name.endswith("Field") and node.args:
            self._note(node.args[0])  # the verbose name
        for keyword in node.keywords:
            is_admin = keyword.arg == "description" and owner(node) == "admin"
            if keyword.arg in READ_KEYWORDS or is_admin:
                self._note(keyword.value)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                 for base in node.bases}  # fmt: skip
        for each in node.body:
            if not isinstance(each, ast.Assign) or not isinstance(each.targets[0], ast.Name):
                continue
            if bases & {"TextChoices", "IntegerChoices"}:
                self._note(each.value.elts[-1] if isinstance(each.value, ast.Tuple) else None)
            elif each.targets[0].id == "fieldsets" and isinstance(each.value, ast.List | ast.Tuple):
                for fieldset in each.value.elts:
                    self._note(fieldset.elts[0] if isinstance(fieldset, ast.Tuple) else None)
            elif each.targets[0].id in READ_ATTRIBUTES:
                self._note(each.value)
        self.generic_visit(node)

    def _note(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Name):
            node = self._constants.get(node.id)
        if isinstance(node, ast.Dict):
            for value in node.values:
                self._note(value)
        elif isinstance(node, ast.IfExp):
            self._note(node.body)
            self._note(node.orelse)
        elif isinstance(node, ast.BinOp):
            self._note(node.left)
            self._note(node.right)
        elif isinstance(node, ast.Call) and called(node) in {"format", "join"}:
            self._note(node.func.value if isinstance(node.func, ast.Attribute) else None)
        elif (text := text_of(node)) not in UNTRANSLATED and WORD.search(text):
            self.found.append((node.lineno if node else 0, text))


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def owner(node: ast.Call) -> str:
    return getattr(getattr(node.func, "value", None), "id", "")


def text_of(node: ast.AST | None) -> str:
    """Return the text of a literal or of an f-string, without its values."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else ""


def literals(source: str) -> list[tuple[int, str]]:
    """Return line and text of each literal in a position whose text people read."""
    return sorted(set(Literals(ast.parse(source)).found))


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each literal that reads like a sentence, in any position."""
    tree = ast.parse(source)
    skipped = {id(part) for node in ast.walk(tree) for part in unread(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = MARKUP.sub("", node.value)
            is_sentence = SENTENCE.search(text) and not SQL.match(text)
            if id(node) not in skipped and is_sentence and text not in NO_SENTENCE:
                yield node.lineno, node.value


def unread(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that people do not read, or that are translated."""
    if isinstance(node, ast.Expr):  # a docstring
        yield node.value
    elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation:
        yield from ast.walk(node.annotation)
    elif isinstance(node, ast.FunctionDef) and node.returns:
        yield from ast.walk(node.returns)
    elif isinstance(node, ast.Subscript):  # a key
        yield node.slice
    elif isinstance(node, ast.Call) and (called(node) in UNREAD or owner(node) in LOGGERS):
        yield from ast.walk(node)


def test_strings_in_visible_positions_are_translated() -> None:
    assert find_in(SOURCES, literals) == []


def test_pages_contain_no_literal_sentences() -> None:
    assert find_in(PAGES, sentences) == []


def test_sentences_about_the_ledger_are_translated() -> None:
    assert find_in(LEDGER_TEXTS, sentences) == []


def find_in(paths: list[Path], find: Callable[[str], Iterable[tuple[int, str]]]) -> list[str]:
    """Return path, line and text of everything that is found in the modules."""
    assert paths
    return [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in paths
        for line, text in find(path.read_text())
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('messages.info(request, "Saved.")', "Saved."),
        ('messages.info(request, f"{n} saved.")', " saved."),
        ('DONE = "Saved."\nmessages.success(request, DONE)', "Saved."),
        ('messages.error(request, "Not saved." if x else _("Saved."))', "Not saved."),
        ('self.message_user(request, "Saved.")', "Saved."),
        ('raise ValidationError("Select one.")', "Select one."),
        ('raise forms.ValidationError("Select {n}.".format(n=1))', "Select {n}."),
        ('form.add_error(None, "Select one.")', "Select one."),
        ('forms.CharField(label="site")', "site"),
        ('models.CharField(verbose_name="site")', "site"),
        ('models.CharField("site")', "site"),
        ('forms.CharField(error_messages={"required": "Select one."})', "Select one."),
        ('@admin.display(description="state")\ndef state(): ...', "state"),
        ('class A(TextChoices):\n    B = "b", "Bee"', "Bee"),
        ('class A:\n    verbose_name = "site"', "site"),
        ('class A:\n    fieldsets = [("Checks", {"fields": ["code"]})]', "Checks"),
        ('raise PermissionDenied("Not you.")', "Not you."),
        ('raise ExportRefused(f"No entry matches {name}.")', "No entry matches ."),
        ('expect(seq, "it was changed", expected, found)', "it was changed"),
        ('raise BrokenChain(ChainBreak(seq, "it was changed", "", ""))', "it was changed"),
        ('yield VerificationNotice("It cannot be checked.")', "It cannot be checked."),
    ],
)
def test_literal_sentences_are_found(source: str, text: str) -> None:
    assert [found for _line, found in literals(source)] == [text]


@pytest.mark.parametrize(
    "source",
    [
        'messages.info(request, _("Saved."))',
        'messages.info(request, ngettext("{n} file", "{n} files", n).format(n=n))',
        'log.info("saved", "now")',
        'forms.CharField(label=_("site"), error_messages={"required": _("Select one.")})',
        'class A(TextChoices):\n    B = "b", _("Bee")',
        'class A:\n    fieldsets = [(None, {"fields": ["code"]})]',
        'HttpResponse(status=204)',
    ],
)  # fmt: skip
def test_translated_texts_are_not_reported_as_literals(source: str) -> None:
    assert literals(source) == []


def test_queries_and_system_checks_are_not_reported_as_sentences() -> None:
    source = 'cursor.execute("SELECT min(seq) FROM audit_entry")\nyield Error("Set a bucket name.")'
    assert list(sentences(source)) == []


def test_sentences_are_found_in_any_position() -> None:
    source = 'WHY = "The file is empty."\nNAME = "upload-file"\nLINK = \'<a href="{}">{}</a>\''
    assert list(sentences(source)) == [(1, "The file is empty.")]
