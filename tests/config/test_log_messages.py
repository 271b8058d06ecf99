"""Messages of the log contain no value that was not reviewed for personal data.

`config.logs` leaves out personal data of libraries and exceptions. It trusts the messages of our
own packages, so this test lists the expressions whose values these may contain. Before you add one,
make sure that it can be neither a name, an address, a file name, a doc_id (which may contain a
name) nor free text. Pass what identifies a document as `document.subject`.
"""

import ast
from functools import cache
from pathlib import Path

from config.logs import KEYS, OWN_PACKAGES

ROOT = Path(__file__).parents[2]
METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
REVIEWED = {
    # numbers
    "batch_id", "chunks", "key", "len(group)", "lease.chunk", "page", "pid", "requests[0].page",
    "self._portal", "signed.size", "recovered.chunks", "recovered.folders",
    "wanted", "worker.pid",
    # names of documents, messages, jobs and files that are made of a kind and a number or a hash
    "delivery.message", "document.subject", "item.name", "job", "message", "sha256",
    # names of things in the code and of versions
    "event", "lock.kind", "name", "self._name", "source", "subcommand", "task.func.__name__",
    "type(error).__name__", "version",
    # sentences of our own without values from documents or people
    "broken", "description", "fault", "outcome.reason", "problem", "reason",
    "run.findings[0]", "skew",
    # exceptions, of which `config.logs` keeps the class
    "error",
}  # fmt: skip


@cache
def list_calls():
    """Return each call of a logger in our packages, with its file."""
    return list(find_calls())


def find_calls():
    for package in sorted(OWN_PACKAGES):
        for file in (ROOT / package).rglob("*.py"):
            source = file.read_text()
            for node in ast.walk(ast.parse(source)) if "logger." in source else ():
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in METHODS
                    and ast.unparse(node.func.value) == "logger"
                ):
                    yield file.relative_to(ROOT), node


def test_messages_contain_only_reviewed_values():
    found = set()
    for file, call in list_calls():
        level = call.func.attr == "log"
        template = call.args[level]
        values = {ast.unparse(value) for value in call.args[level + 1 :]}
        if not isinstance(template, ast.Constant):
            assert (str(file), ast.unparse(template)) in {
                ("audit/ledger/entry_log.py", "text"),
                ("ingestion/reading/processes/parser_processes.py", "reason"),
            }
        assert values <= REVIEWED, f"{file}:{call.lineno} logs {values - REVIEWED}"
        found |= values
    assert found == REVIEWED, f"not used any more: {REVIEWED - found}"


def test_calls_pass_documented_keys_only():
    for file, call in list_calls():
        for keyword in call.keywords:
            if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
                names = {key.value for key in keyword.value.keys if key is not None}
                assert names <= set(KEYS), f"{file}:{call.lineno}"
