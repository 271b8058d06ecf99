"""Tests that packages are rejected that a forger made of a real package and of public data.

The forger knows the format and has every file, but not the key of the ledger. In the last tests,
the forger has the key too.
"""

import base64
import json
import os
import shutil

import pytest

from audit.export.package import _hash_of
from audit.ledger import chain, merkle_tree, queries
from audit.signing import signed_note
from tests.audit.export.support import (
    KEY,
    NAME,
    OTHER,
    inspect,
    keep_checkpoint,
    make_export,
    sign,
    write_documents,
)
from tests.audit.ledger.test_merkle_tree import hashes_of

KNOWN = ["--vkey", KEY.verifier.text]
FORMAT = "siteledger-audit-export/2"
OLD_FORMAT = "siteledger-audit-export/1"
REMAINING = [1, 2, 3, 10, 11, 12]  # the numbers of the entries that the forger keeps, of 12


def manifest_of(package):
    return json.loads((package / "manifest.json").read_text())


def write_manifest(package, signer=None, **claims):
    manifest = manifest_of(package) | claims
    covered = [p for p in package.rglob("*") if p.is_file() and not p.name.startswith("manifest.")]
    names = sorted(path.relative_to(package).as_posix() for path in covered)
    manifest["files"] = {name: _hash_of(package / name) for name in names if name != "run.json"}
    (package / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
    if signer:
        digest = _hash_of(package / "manifest.json")
        text = f"{FORMAT} manifest.json\nsha256 {digest}\n"
        (package / "manifest.json.note").write_text(signed_note.sign_note(text, [signer]))


def remove_half_of_the_entries(package, signer=None, **claims):
    """Keep six of twelve entries, each with a proof that is computed from public data."""
    lines = (package / "entries.ndjson").read_text().splitlines()
    details = (package / "details.ndjson").read_text().splitlines()
    leaves = [merkle_tree.hash_leaf(line) for line in lines]
    note = (package / "checkpoints" / "12").read_text()
    (package / "proofs").mkdir()

    def proof(spans):
        return "".join(f"{base64.b64encode(h).decode()}\n" for h in hashes_of(spans, leaves))

    (package / "proofs" / "6.consistency").write_text(
        f"old 6\n{proof(merkle_tree.list_consistency_path(6, 12))}\n{note}"
    )
    (package / "proofs" / "inclusion.tlog-proofs").write_text(
        "".join(
            f"c2sp.org/tlog-proof@v1\nindex {seq - 1}\n"
            f"{proof(merkle_tree.list_inclusion_path(seq - 1, 12))}\n{note}"
            for seq in REMAINING
        )
    )
    for name, rows in (("entries", lines), ("details", details)):
        remaining = "".join(f"{rows[seq - 1]}\n" for seq in REMAINING)
        (package / f"{name}.ndjson").write_text(remaining)
    statement = {"whole": False, "entries": 6, "details": 6, "filters": {"since": "2020-01-01"}}
    write_manifest(package, signer, **statement | claims)


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("given", [[], ["--part"]], ids=["whole expected", "part expected"])
def test_an_export_without_some_entries_is_rejected(package, given):
    newest = keep_checkpoint(package)
    remove_half_of_the_entries(package)
    for known in ([], KNOWN, [*KNOWN, "--known", newest]):
        assert inspect(package, *known, *given)[0] == 1


@pytest.mark.requirement("R05")
def test_an_export_without_some_entries_signed_with_another_key_is_rejected(package):
    remove_half_of_the_entries(package, OTHER)
    (package / "vkeys.txt").write_text(f"{OTHER.verifier.text}\n")
    write_manifest(package, OTHER)
    code, output = inspect(package, *KNOWN, "--part")
    assert (code, output) == (1, "BROKEN: manifest.json is not signed by a known key.\n")
    code, output = inspect(package, "--part")
    assert (code, "checkpoints/12 is not signed by a known key" in output) == (1, True)


@pytest.mark.requirement("R11")
def test_a_checkpoint_does_not_confirm_a_replaced_copy_that_was_signed_with_new_keys(package):
    """The entries are the signed ones. The manifest and the keys are those of the forger."""
    newest = keep_checkpoint(package)
    (package / "timeline.csv").write_text("another table")
    (package / "vkeys.txt").write_text(f"{OTHER.verifier.text}\n")
    note = (package / "checkpoints" / "12").read_text()
    text = note.partition("\n\n")[0] + "\n"
    (package / "checkpoints" / "12").write_text(note + OTHER.line(text))
    write_manifest(package, OTHER)
    code, output = inspect(package, "--known", newest)
    assert (code, "confirmed only by keys from the package itself" in output) == (3, True), output
    assert inspect(package, *KNOWN, "--known", newest)[0] == 1


def drop_the_signature(package):
    (package / "manifest.json.note").unlink()


def sign_nothing(package):
    (package / "manifest.json.note").write_text("")


def sign_with_a_checkpoint(package):
    """Use a signature of the ledger's key for another text."""
    shutil.copy(package / "checkpoints" / "12", package / "manifest.json.note")


def sign_with_an_invalid_signature(package):
    note = (package / "manifest.json.note").read_text()
    text, _, line = note.partition("\n\n")
    name = line.split(" ")[1]
    forged = base64.b64encode(KEY.verifier.key_id + bytes(64)).decode()
    (package / "manifest.json.note").write_text(f"{text}\n\n\u2014 {name} {forged}\n")


def add_a_file(package):
    (package / "timeline (corrected).csv").write_text("1")


def add_a_second_manifest(package):
    (package / "fhir" / "manifest.json").write_text((package / "manifest.json").read_text())


def add_a_manifest_in_capitals(package):
    (package / "MANIFEST.JSON").write_text("{}")


def add_a_hidden_file(package):
    (package / ".entries.ndjson").write_text("")


def rename_a_file(package):
    (package / "timeline.csv").rename(package / "table.csv")


def remove_a_file(package):
    (package / "report.pdf").unlink()


def remove_a_folder(package):
    shutil.rmtree(package / "fhir")


def replace_a_file_with_a_link(package):
    outside = package.with_name("outside.csv")
    (package / "timeline.csv").rename(outside)
    (package / "timeline.csv").symlink_to(outside)


def replace_a_folder_with_a_link(package):
    outside = package.with_name("outside")
    (package / "fhir").rename(outside)
    (package / "fhir").symlink_to(outside)


def replace_the_manifest_with_a_link(package):
    (package / "manifest.json").rename(package / "other.json")
    (package / "manifest.json").symlink_to("other.json")


def add_a_link_without_a_target(package):
    (package / "more").symlink_to("/no/such/file")


def replace_a_file_with_a_pipe(package):
    (package / "timeline.csv").unlink()
    os.mkfifo(package / "timeline.csv")


def replace_the_keys(package):
    (package / "vkeys.txt").write_text(f"{OTHER.verifier.text}\n")


def edit_the_filters(package):
    text = (package / "manifest.json").read_text()
    (package / "manifest.json").write_text(text.replace('"filters": {}', '"filters": {"x": "y"}'))


def repeat_the_filters(package):
    text = (package / "manifest.json").read_text()
    twice = text.replace('"filters": {}', '"filters": {"x": "y"}, "filters": {}')
    assert twice != text
    (package / "manifest.json").write_text(twice)


def truncate_the_manifest(package):
    raw = (package / "manifest.json").read_bytes()
    (package / "manifest.json").write_bytes(raw[: len(raw) // 2])


FORGERIES = {
    drop_the_signature: "manifest.json.note is missing",
    sign_nothing: "not a signed note",
    sign_with_a_checkpoint: "manifest.json differs from the signed one",
    sign_with_an_invalid_signature: "did not sign it",
    add_a_file: "has files that the manifest does not name: ['timeline (corrected).csv']",
    add_a_second_manifest: "does not name: ['fhir/manifest.json']",
    add_a_manifest_in_capitals: "does not name: ['MANIFEST.JSON']",
    add_a_hidden_file: "does not name: ['.entries.ndjson']",
    rename_a_file: "files that the manifest names are missing: ['timeline.csv']",
    remove_a_file: "files that the manifest names are missing: ['report.pdf']",
    remove_a_folder: "files that the manifest names are missing: ['fhir/AuditEvent.ndjson'",
    replace_a_file_with_a_link: "'timeline.csv' is neither a file nor a folder",
    replace_a_folder_with_a_link: "'fhir' is neither a file nor a folder",
    replace_the_manifest_with_a_link: "'manifest.json' is neither a file nor a folder",
    add_a_link_without_a_target: "'more' is neither a file nor a folder",
    replace_a_file_with_a_pipe: "'timeline.csv' is neither a file nor a folder",
    replace_the_keys: "vkeys.txt was changed",
    edit_the_filters: "manifest.json differs from the signed one",
    repeat_the_filters: "manifest.json differs from the signed one",
    truncate_the_manifest: "manifest.json differs from the signed one",
}


@pytest.mark.sampled(3)
@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("forge", "message"), FORGERIES.items(), ids=lambda c: getattr(c, "__name__", "")
)
def test_each_forgery_without_the_key_is_reported(package, forge, message):
    newest = keep_checkpoint(package)
    forge(package)
    code, output = inspect(package, *KNOWN, "--known", newest)
    assert (code, message in output) == (1, True), output
    assert inspect(package)[0] == 1  # with the keys of the package


def test_a_whole_trail_cannot_be_presented_as_a_part_nor_a_part_as_the_whole(
    package_of_trail, tmp_path
):
    """The forger has both packages, and the signature of each."""
    package = package_of_trail
    part = make_export(tmp_path / "part", sites=["DE-014", "FR-002"])
    for one, other in ((package, part), (part, package)):
        forged = tmp_path / f"forged-{one.name}"
        shutil.copytree(one, forged)
        for name in ("manifest.json", "manifest.json.note"):
            shutil.copy(other / name, forged)
        assert inspect(forged, *KNOWN, "--part")[0] == 1


def test_a_signed_manifest_with_a_duplicate_key_is_refused(package):
    repeat_the_filters(package)
    digest = _hash_of(package / "manifest.json")
    text = f"{FORMAT} manifest.json\nsha256 {digest}\n"
    (package / "manifest.json.note").write_text(signed_note.sign_note(text, [KEY]))
    assert inspect(package, *KNOWN) == (1, "BROKEN: a JSON object contains a key twice.\n")


def convert_to_old_format(package):
    """Remove the signature of the manifest and state the old format, as older releases did."""
    (package / "manifest.json.note").unlink()
    write_manifest(package, format=OLD_FORMAT)


@pytest.mark.parametrize("name", ["whole", "part"])
def test_an_export_of_an_older_release_is_reported_as_unsigned(package, part, name):
    package = {"whole": package, "part": part}[name]
    convert_to_old_format(package)
    code, output = inspect(package, *KNOWN, "--part", "--known", keep_checkpoint(package))
    contents, *_, verdict = output.splitlines()
    assert code == 2
    assert contents.startswith("PART: 3 of 12" if name == "part" else "COMPLETE: entries 1 to 12.")
    assert verdict.startswith("CANNOT BE CHECKED: manifest.json is not signed. An older release")
    recorded_hash = _hash_of(package / "manifest.json")
    assert inspect(package, *KNOWN, "--part", "--known", recorded_hash)[0] == 0


def test_an_older_export_without_some_entries_is_not_accepted(package_of_trail):
    package = package_of_trail
    recorded_hash = queries.find_entries(limit=1)[0].sha256
    (package / "manifest.json.note").unlink()
    remove_half_of_the_entries(package, format=OLD_FORMAT)
    code, output = inspect(package, *KNOWN, "--part")
    assert (code, "PART: 6 of 12 entries; completeness not shown" in output) == (2, True), output
    assert inspect(package, *KNOWN, "--part", "--known", recorded_hash)[0] == 2


def test_a_changed_export_of_an_older_release_is_broken(package):
    convert_to_old_format(package)
    with (package / "timeline.csv").open("ab") as file:
        file.write(b"x")
    code, output = inspect(package, *KNOWN)
    assert (code, "timeline.csv was changed" in output) == (1, True)


def test_an_unsupported_format_cannot_be_checked(package):
    write_manifest(package, KEY, format="siteledger-audit-export/3")
    code, output = inspect(package, *KNOWN)
    assert (code, "the format is 'siteledger-audit-export/3'" in output) == (2, True)


@pytest.mark.requirement("R05")
def test_an_export_shortened_with_the_key_is_reported_as_a_part(package):
    newest = keep_checkpoint(package)
    remove_half_of_the_entries(package, KEY)
    statement = 'PART: 6 of 12 entries; completeness not shown; filters: {"since": "2020-01-01"}.\n'
    for known, as_part in (([], 3), (KNOWN, 3), ([*KNOWN, "--known", newest], 0)):
        for given, expected in (([], 4), (["--part"], as_part)):
            code, output = inspect(package, *known, *given)
            assert (code, output.startswith(statement)) == (expected, True), output


@pytest.mark.requirement("R05")
def test_only_an_older_checkpoint_reveals_a_trail_rewritten_with_the_key(package, tmp_path):
    older, newest = keep_checkpoint(package, 6), keep_checkpoint(package, 12)
    lines, prev = (package / "entries.ndjson").read_text().splitlines(), chain.GENESIS
    frontier, forged_lines = merkle_tree.Frontier(), []
    for line in lines:
        entry = json.loads(line.replace("DE-014", "DE-099")) | {"prev": prev}
        forged_lines.append(chain.format_canonical(entry))
        prev = chain.compute_digest(forged_lines[-1])
        frontier.add(merkle_tree.hash_leaf(forged_lines[-1]))
    (package / "entries.ndjson").write_text("".join(f"{line}\n" for line in forged_lines))
    (package / "checkpoints" / "6").unlink()
    head = signed_note.CheckpointText(NAME, 12, frontier.root())
    (package / "checkpoints" / "12").write_text(signed_note.sign_note(head.text, [KEY]))
    write_manifest(package, KEY, root=head.root.hex(), head=prev)
    code, output = inspect(package, *KNOWN)
    assert (code, "confirmed only by the installation that made it" in output) == (3, True), output
    for known in (older, newest):
        assert inspect(package, *KNOWN, "--known", known)[0] == 1


def test_a_checkpoint_signed_with_the_key_of_another_trail_is_refused(package):
    """The inspector knows the keys of two trails. One of them signs in the name of the other."""
    another = signed_note.Signer("another.example/trail", OTHER.private)
    note = (package / "checkpoints" / "12").read_text().partition("\n\n")[0] + "\n"
    (package / "checkpoints" / "12").write_text(signed_note.sign_note(note, [another]))
    write_manifest(package, another)
    code, output = inspect(package, *KNOWN, "--vkey", another.verifier.text)
    assert (code, output) == (1, "BROKEN: manifest.json is not signed by a known key.\n")
    write_manifest(package, KEY)
    code, output = inspect(package, *KNOWN, "--vkey", another.verifier.text)
    assert (code, "checkpoints/12 is not signed by a known key" in output) == (1, True)


def test_printed_values_are_escaped_for_the_terminal(db, anchors, tmp_path):
    write_documents(1, site="\u202eDE")
    sign()
    part = make_export(tmp_path / "part", sites=["\u202eDE"])
    _, output = inspect(part, *KNOWN)
    assert '{"sites": ["\\u202eDE"]}' in output
