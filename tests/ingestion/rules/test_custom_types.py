"""Tests of document types that an installation adds (docs/document-types.md)."""

import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from ingestion.rules import VERSION
from ingestion.rules import document_types as built_in
from ingestion.rules.classification.classify import classify
from ingestion.rules.document_types import (
    BOUNDARY_MODEL_SHA256,
    MODEL_SHA256,
    TYPES,
    TYPES_FILE_SETTING,
    VALUE_MODEL_SHA256,
    TypesError,
    TypesFile,
    load_catalogue,
    load_types,
)
from ingestion.rules.fields.extraction import read_fields
from tests.ingestion.rules.documents import COMPLETE, make_document
from tests.ingestion.rules.pages import make_page, make_reading
from tests.ingestion.rules.printed_documents import make_printed

ROOT = Path(__file__).resolve().parents[3]
MANUAL = (ROOT / "docs" / "document-types.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", MANUAL, re.DOTALL)[1]
OURS = TypesFile(
    "types.toml", Path(built_in.__file__).with_name("types.toml").read_text(encoding="utf-8")
)
CERTIFICATE = (
    "CERTIFICATE OF TRAINING",
    "IATA Dangerous Goods Regulations, infectious substances",
    "This certifies that",
    "Lauren Beck, RN",
    "Course title: Shipping of biological substances",
    "Completion date: 17 March 2026",
)
BROKEN = EXAMPLE.replace("weight = 4", 'weight = "four"')
IN_THE_POOL = """
import asyncio, datetime, functools, sys
from pathlib import Path
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.rules.checks import verdict as checks
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts

async def main(path):
    check = functools.partial(checks.check_or_reject, sent=SenderFacts("v2.1"),
                              site=SiteFacts("0203"), today=datetime.date(2026, 11, 20))
    async with Reader(ReadingLimits(processes=1), preload=[checks.__name__]) as reader:
        verdict = (await reader.read_then(check, path, "0" * 64)).verdict
    print(verdict.document_type, verdict.state, verdict.rules_version)

if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    return path


def test_the_example_of_the_manual_is_recognised_and_its_fields_are_read(own):
    types = load_catalogue(str(own)).types
    certificate = make_reading(make_page(*CERTIFICATE))
    assert classify(certificate, types=types).slug == "iata-certificate"
    read = {each.name: each.value for each in read_fields(certificate, types["iata-certificate"])}
    assert read == {
        "person": "Lauren Beck, RN",
        "iata_course": "Shipping of biological substances",
        "completion_date": "2026-03-17",
    }


@pytest.mark.parametrize("slug", COMPLETE)
def test_an_added_type_does_not_change_the_recognition_of_others(slug, own):
    assert classify(make_document(slug), types=load_catalogue(str(own)).types).slug == slug


def test_a_table_of_the_same_name_replaces_only_that_type(own):
    text = tomllib.loads(EXAMPLE)["types"]["iata-certificate"]
    own.write_text(EXAMPLE.replace("types.iata-certificate", "types.cv"), encoding="utf-8")
    types = load_catalogue(str(own)).types
    assert list(types) == list(TYPES)
    assert types["cv"].name == text["name"]
    assert types["form-fda-1572"] == TYPES["form-fda-1572"]


def test_the_rules_version_identifies_the_file_of_types(own):
    digest = sha256(own.read_bytes()).hexdigest()
    assert load_catalogue(str(own)).version == f"{VERSION}+{digest[:8]}"
    assert load_catalogue().version == VERSION


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("weight = 4", 'weight = "four"', "types.iata-certificate: landmarks.0.weight"),
        ("weight = 2", "weight = 0", "types.iata-certificate: landmarks: together"),
        ('kind = "text"', 'kind = "words"', "fields.iata_course: kind"),
        ("[fields.iata_course]", "[field.iata_course]", "own.toml: field: "),
        ("noun =", "pattern = '['\nnoun =", "fields.iata_course: pattern: "),
        ("[types.iata-certificate]", "[types.IATA]", "types.IATA: slug"),
        ('"iata_course",', '"courses",', "fields: there is no [fields.courses]"),
        ('fields = ["person"', 'fields = [["person"]', "types.iata-certificate: fields.0"),
        ("tmf = {", 'tmf = "05.02.07" #', "types.iata-certificate: tmf"),
        ("[types.", "[types.\x00", "own.toml: "),
    ],
)
def test_an_error_names_file_table_and_key_and_the_built_in_types_stay(own, old, new, complaint):
    assert old in EXAMPLE
    own.write_text(EXAMPLE.replace(old, new), encoding="utf-8")
    known = load_catalogue(str(own))
    assert known.fault.startswith(str(own))
    assert complaint in known.fault
    assert (known.types, known.version) == (TYPES, VERSION)


def test_a_missing_file_is_reported(tmp_path):
    assert "missing.toml" in load_catalogue(str(tmp_path / "missing.toml")).fault


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wrong", [5, True, "x", [], [5], [["x"]], {}, {"x": {"y": 1}}], ids=repr)
@pytest.mark.parametrize("key", tomllib.loads(EXAMPLE)["types"]["iata-certificate"])
def test_wrong_values_raise_no_other_error(key, wrong):
    table = tomllib.loads(EXAMPLE)["types"]["iata-certificate"] | {key: wrong}
    with suppress(TypesError):
        load_types(OURS, TypesFile("example.toml", EXAMPLE), TypesFile("own.toml", as_toml(table)))


def as_toml(table):
    def inline(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {inline(each)}" for key, each in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(inline, value)) + "]"
        return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'

    return "[types.own]\n" + "\n".join(f"{key} = {inline(each)}" for key, each in table.items())


def run(*command, path, **environment):
    """Run a command in another process with this file of types in its environment."""
    variables = {
        **os.environ,
        TYPES_FILE_SETTING: str(path),
        "PYTHONPATH": str(ROOT),
        **environment,
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_parser_processes_use_the_added_type(own, tmp_path):
    document, script = tmp_path / "paper.pdf", tmp_path / "script.py"
    document.write_bytes(make_printed(*CERTIFICATE))
    script.write_text(IN_THE_POOL, encoding="utf-8")
    done = run(str(script), str(document), path=own)
    digest = sha256(own.read_bytes()).hexdigest()
    fixed = f"boundaries-{BOUNDARY_MODEL_SHA256[:8]}+values-{VALUE_MODEL_SHA256[:8]}"
    version = f"{VERSION}+{digest[:8]}+{fixed}+model-{MODEL_SHA256[:8]}"
    assert done.stdout.split() == ["iata-certificate", "ARCHIVED", version]


@pytest.mark.slow
def test_the_system_check_fails_for_an_invalid_file(own, tmp_path):
    own.write_text(BROKEN, encoding="utf-8")
    place = {"DEBUG": "1", "DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = run("manage.py", "check", path=own, **place)
    assert done.returncode == 1
    assert "ingestion.E016" in done.stderr
    assert f"{own}: types.iata-certificate: landmarks.0.weight" in done.stderr
    assert "Traceback" not in done.stderr
