"""Tests that a verifier of the inspector's own finds each change of an export.

After each change, the manifest is also renewed, without the key of the ledger and with it. If the
attacker has the key, only the checkpoints that the inspector keeps reveal the change.
"""

import json
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
    run_verifier,
    sign,
    write_documents,
)
from tests.audit.support import sql, triggers_removed, write

KNOWN = ["--vkey", KEY.verifier.text]
FORMAT = "siteledger-audit-export/2"
NOT_SIGNED = "BROKEN: manifest.json differs from the signed one.\n"
SIGNED_BY_ANOTHER = "BROKEN: manifest.json is not signed by a known key.\n"
NOT_A_DETAIL = "not a canonical line of detail, salt (32 hex) and seq"


def lines_of(package):
    return (package / "entries.ndjson").read_text().splitlines()


def write_lines(package, lines):
    (package / "entries.ndjson").write_text("".join(f"{line}\n" for line in lines))


def relink(lines):
    """Return the lines with new numbers and predecessors, as a valid chain."""
    linked, prev = [], chain.GENESIS
    for seq, line in enumerate(lines, start=1):
        linked.append(chain.format_canonical(json.loads(line) | {"seq": seq, "prev": prev}))
        prev = chain.compute_digest(linked[-1])
    return linked


def change_and_relink(package, change):
    """Change entry 5 to a line that the format forbids, and renew the hashes of later entries."""
    lines, hashes = lines_of(package), {}
    for at, line in enumerate(lines):
        before = chain.compute_digest(line)
        for old, new in hashes.items():
            line = line.replace(old, new)  # noqa: PLW2901 - the line with the renewed hashes
        lines[at] = change(line) if at == 4 else line
        hashes = {before: chain.compute_digest(lines[at])}
    write_lines(package, lines)


def renew_manifest(package, signer=KEY, **claims):
    """Write the manifest of the current files. If `signer` is None, keep the old signature."""
    manifest = json.loads((package / "manifest.json").read_text())
    lines, details = lines_of(package), (package / "details.ndjson").read_text().splitlines()
    manifest |= {
        "head": chain.compute_digest(lines[-1]),
        "entries": len(lines),
        "first_seq": json.loads(lines[0])["seq"],
        "last_seq": json.loads(lines[-1])["seq"],
        "details": len(details),
    }
    manifest["files"] = {name: _hash_of(package / name) for name in manifest["files"]}
    write_manifest(package, json.dumps(manifest | claims), signer)


def write_manifest(package, text, signer=KEY):
    (package / "manifest.json").write_text(text)
    if signer:
        digest = _hash_of(package / "manifest.json")
        note = signed_note.sign_note(f"{FORMAT} manifest.json\nsha256 {digest}\n", [signer])
        (package / "manifest.json.note").write_text(note)


def edit_an_entry(package):
    lines = lines_of(package)
    write_lines(package, [*lines[:4], lines[4].replace("DE-014", "DE-015"), *lines[5:]])


def edit_the_last_entry(package):
    lines = lines_of(package)
    write_lines(package, [*lines[:-1], lines[-1].replace("ARCHIVED", "REJECTED")])


def delete_an_entry(package):
    lines = lines_of(package)
    write_lines(package, lines[:4] + lines[5:])


def delete_the_first_entry(package):
    write_lines(package, lines_of(package)[1:])


def exchange_two_entries(package):
    lines = lines_of(package)
    write_lines(package, [*lines[:4], lines[5], lines[4], *lines[6:]])


def duplicate_an_entry(package):
    lines = lines_of(package)
    write_lines(package, lines[:5] + lines[4:])


def edit_and_relink(package):
    edit_an_entry(package)
    write_lines(package, relink(lines_of(package)))


def delete_and_relink(package):
    delete_an_entry(package)
    write_lines(package, relink(lines_of(package)))
    file = package / "details.ndjson"
    details = [json.loads(line) for line in file.read_text().splitlines()]
    del details[4]
    moved = [detail | {"seq": seq} for seq, detail in enumerate(details, start=1)]
    file.write_text("".join(f"{chain.format_canonical(detail)}\n" for detail in moved))


def repeat_a_field(package):
    change_and_relink(package, lambda line: line.replace('"code":', '"code":"","code":'))


def add_a_second_predecessor(package):
    change_and_relink(package, lambda line: line.replace('"prev":', f'"prev":"{"0" * 64}","prev":'))


def add_text_before_the_json_object(package):
    change_and_relink(package, lambda line: f"no JSON: {line}")


def remove_the_last_entries(package):
    write_lines(package, lines_of(package)[:-2])


def rewrite_the_end(package):
    edit_the_last_entry(package)
    write_lines(package, relink(lines_of(package)))


def add_an_entry(package):
    lines = lines_of(package)
    write_lines(package, relink([*lines, lines[-1].replace("CV-4", "CV-9")]))


def change_the_trail_of_an_entry(package):
    lines = lines_of(package)
    foreign = lines[-1].replace('"trail":"siteledger"', '"trail":"elsewhere"')
    write_lines(package, [*lines[:-1], foreign])


def remove_the_last_line_break(package):
    file = package / "entries.ndjson"
    file.write_bytes(file.read_bytes()[:-1])


def edit_a_checkpoint(package):
    file = package / "checkpoints" / "6"
    file.write_text(file.read_text().replace("\n6\n", "\n5\n"))


def sign_with_another_key(package):
    frontier = merkle_tree.Frontier()
    for line in lines_of(package):
        frontier.add(merkle_tree.hash_leaf(line))
    head = signed_note.CheckpointText(NAME, frontier.size, frontier.root())
    (package / "checkpoints" / str(frontier.size)).write_text(
        signed_note.sign_note(head.text, [OTHER])
    )


def edit_a_detail(package):
    file = package / "details.ndjson"
    file.write_text(file.read_text().replace("no. 1 of 2", "no. 1 of 9"))


def remove_a_detail(package):
    file = package / "details.ndjson"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))


def add_an_invalid_detail(package):
    with (package / "details.ndjson").open("a") as file:
        file.write('{"detail":"{}","salt":"","seq":13}\n')


def add_a_valid_detail(package):
    with (package / "details.ndjson").open("a") as file:
        file.write(f'{{"detail":"{{}}","salt":"{"0" * 32}","seq":13}}\n')


def change_details(package, old, new):
    file = package / "details.ndjson"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def shorten_a_salt(package):
    first, *_ = (package / "details.ndjson").read_text().splitlines()
    salt = json.loads(first)["salt"]
    change_details(package, salt, salt[:-2])


def repeat_a_member_of_a_detail(package):
    change_details(package, '"seq":5}', '"seq":5,"seq":5}')


def add_a_member_to_a_detail(package):
    change_details(package, '"seq":5}', '"seq":5,"then":""}')


def add_a_space_to_a_detail(package):
    change_details(package, '"seq":5}', '"seq": 5}')


def escape_a_character_of_a_detail(package):
    change_details(package, "Zoë", "Zo\\u00eb")


def commit_to(package, detail):
    """Change the detail of entry 5 and its commitment, and sign the checkpoints again."""
    lines = [json.loads(line) for line in (package / "details.ndjson").read_text().splitlines()]
    before, lines[4]["detail"] = lines[4]["detail"], detail
    text = "".join(f"{chain.format_canonical(line)}\n" for line in lines)
    (package / "details.ndjson").write_text(text)
    salt = bytes.fromhex(lines[4]["salt"])
    old, new = (chain.compute_commitment(salt, each) for each in (before, detail))
    change_and_relink(package, lambda line: line.replace(old, new))
    sign_again(package, KEY)


def commit_to_a_repeated_key(package):
    commit_to(package, '{"note":"a","note":"b"}')


def commit_to_a_string(package):
    commit_to(package, '"a note"')


def sign_again(package, signer):
    """Sign the existing checkpoints again, with the roots of the current entries."""
    frontier = merkle_tree.Frontier()
    for line in lines_of(package):
        frontier.add(merkle_tree.hash_leaf(line))
        path = package / "checkpoints" / str(frontier.size)
        if path.exists():
            head = signed_note.CheckpointText(NAME, frontier.size, frontier.root())
            path.write_text(signed_note.sign_note(head.text, [signer]))


TAMPERINGS = {
    edit_an_entry: "entry 6 does not follow",
    edit_the_last_entry: "the first 12 entries differ from those of a checkpoint",
    delete_an_entry: "entry 5 does not follow",
    delete_the_first_entry: "entry 1 does not follow",
    exchange_two_entries: "entry 5 does not follow",
    duplicate_an_entry: "entry 6 does not follow",
    edit_and_relink: "the first 6 entries differ from those of a checkpoint",
    delete_and_relink: "the first 6 entries differ from those of a checkpoint",
    repeat_a_field: "the first 6 entries differ from those of a checkpoint",
    add_a_second_predecessor: "the first 6 entries differ from those of a checkpoint",
    add_text_before_the_json_object: "the first 6 entries differ from those of a checkpoint",
    remove_the_last_entries: "the trail ends after 10 entries, not as signed after 12",
    rewrite_the_end: "the first 12 entries differ from those of a checkpoint",
    add_an_entry: "the trail ends after 13 entries, not as signed after 12",
    change_the_trail_of_an_entry: "the first 12 entries differ from those of a checkpoint",
    remove_the_last_line_break: "the first 12 entries differ from those of a checkpoint",
    edit_a_checkpoint: "siteledger.example/trail+2d5274e8 did not sign it",
    sign_with_another_key: "checkpoints/12 is not signed by a known key",
    edit_a_detail: "entry 5: the detail was changed",
    remove_a_detail: "details are missing: ['entry:1']",
    add_an_invalid_detail: NOT_A_DETAIL,
    add_a_valid_detail: "out of place: (13, ",
    shorten_a_salt: NOT_A_DETAIL,
    repeat_a_member_of_a_detail: NOT_A_DETAIL,
    add_a_member_to_a_detail: NOT_A_DETAIL,
    add_a_space_to_a_detail: NOT_A_DETAIL,
    escape_a_character_of_a_detail: "not a canonical detail",
    commit_to_a_repeated_key: "not a canonical detail",
    commit_to_a_string: "not a canonical detail",
}


A_FEW = list(TAMPERINGS)[::6]


@pytest.mark.requirement("R05")
def test_an_unchanged_export_is_valid(package):
    code, output = run_verifier(package, *KNOWN, "--known", keep_checkpoint(package))
    assert code == 0
    assert output == (
        "COMPLETE: entries 1 to 12.\n"
        "Signed by siteledger.example/trail+2d5274e8 (that you gave).\n"
        "Confirmed by --known: entries up to 12.\n"
    )


@pytest.mark.sampled(3)
@pytest.mark.requirement("R05")
@pytest.mark.parametrize("change", A_FEW, ids=lambda change: change.__name__)
def test_a_change_differs_from_the_manifest(package, change):
    """The manifest has the hash of each file, so some changes are enough."""
    change(package)
    code, output = inspect(package, *KNOWN)
    assert code == 1
    assert "was changed: its SHA-256 is not that of the manifest" in output


@pytest.mark.sampled(3)
@pytest.mark.requirement("R05")
@pytest.mark.parametrize("change", A_FEW, ids=lambda change: change.__name__)
def test_a_manifest_renewed_without_the_key_fails_its_signature(package, change):
    """The kind of change makes no difference to the signature, so some changes are enough."""
    change(package)
    renew_manifest(package, None)
    assert inspect(package, *KNOWN) == (1, NOT_SIGNED)
    renew_manifest(package, OTHER)
    assert inspect(package, *KNOWN) == (1, SIGNED_BY_ANOTHER)


@pytest.mark.sampled(4)
@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("change", "message"),
    TAMPERINGS.items(),
    ids=lambda c: getattr(c, "__name__", ""),
)
def test_changes_are_found_even_if_the_manifest_was_signed_again(package, change, message):
    change(package)
    frontier = merkle_tree.Frontier()
    for line in lines_of(package):
        frontier.add(merkle_tree.hash_leaf(line))
    is_signed_again = change in {
        commit_to_a_repeated_key,
        commit_to_a_string,
    }
    renew_manifest(package, **({"root": frontier.root().hex()} if is_signed_again else {}))
    code, output = inspect(package, *KNOWN)
    assert (code, message in output) == (1, True), output


@pytest.mark.requirement("R11")
@pytest.mark.parametrize("name", ["timeline.csv", "report.pdf", "fhir/AuditEvent.ndjson"])
def test_an_edited_copy_for_people_is_found(package, name):
    with (package / name).open("ab") as file:
        file.write(b"x")
    assert inspect(package, *KNOWN) == (
        1, f"BROKEN: {name} was changed: its SHA-256 is not that of the manifest.\n",
    )  # fmt: skip
    renew_manifest(package, None)
    assert inspect(package, *KNOWN) == (1, NOT_SIGNED)


@pytest.mark.requirement("R11")
def test_the_recorded_hash_of_the_manifest_reveals_a_copy_edited_with_the_key(package_of_trail):
    package = package_of_trail
    recorded_hash = queries.find_entries(limit=1)[0].sha256
    assert inspect(package, "--known", recorded_hash)[0] == 0
    with (package / "timeline.csv").open("ab") as file:
        file.write(b"x")
    renew_manifest(package)
    assert inspect(package, *KNOWN)[0] == 3  # its consistent content is not confirmed from outside
    code, output = inspect(package, "--known", recorded_hash)
    assert (code, recorded_hash in output) == (1, True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"size": 6}, "checkpoints/12 is not a checkpoint of this trail"),
        ({"size": 13}, "the checkpoint of 13 entries is missing"),
        ({"size": True}, "manifest.json contradicts itself"),
        ({"size": "12"}, "manifest.json contradicts itself"),
        ({"head": "00"}, "the trail ends after 12 entries, not as signed after 12"),
        ({"root": "00"}, "the root in manifest.json differs from that of the checkpoint"),
        ({"origin": "siteledger.example"}, "manifest.json is not signed by a known key"),
        ({"whole": False}, "manifest.json contradicts itself"),
        ({"whole": False, "filters": {"doc_id": "CV-1"}}, "6.consistency"),
        ({"whole": 1}, "manifest.json contradicts itself"),
        ({"filters": {"doc_id": "CV-1"}}, "manifest.json contradicts itself"),
        ({"entries": 11}, "[12, 1, 12, 12, 0], but manifest.json states [11, 1, 12, 12, 0]"),
        ({"details": 11}, "[12, 1, 12, 12, 0], but manifest.json states [12, 1, 12, 11, 0]"),
        ({"details_taken_out": 1}, "manifest.json states [12, 1, 12, 12, 1]"),
        ({"files": {}}, "the package has files that the manifest does not name"),
        ({"files": {"../../etc/passwd": "00"}}, "'../../etc/passwd' is not a valid path"),
        ({"files": {"/etc/passwd": "00"}}, "'/etc/passwd' is not a valid path"),
        ({"files": {"fhir/../entries.ndjson": "00"}}, "is not a valid path"),
        ({"files": {"fhir\\AuditEvent.ndjson": "00"}}, "is not a valid path"),
        ({"files": {"C:entries.ndjson": "00"}}, "is not a valid path"),
        ({"files": {"./entries.ndjson": "00"}}, "is not a valid path"),
    ],
)
def test_a_false_statement_in_the_manifest_is_found(package, claim, message):
    renew_manifest(package, **claim)
    code, output = inspect(package, *KNOWN)
    assert (code, message in output) == (1, True), output


def remove_the_last_entries_and_their_checkpoint(package):
    write_lines(package, lines_of(package)[:6])
    details = (package / "details.ndjson").read_text().splitlines(keepends=True)
    (package / "details.ndjson").write_text("".join(details[:6]))
    (package / "checkpoints" / "12").unlink()
    manifest = json.loads((package / "manifest.json").read_text())
    del manifest["files"]["checkpoints/12"]
    (package / "manifest.json").write_text(json.dumps(manifest))
    note = (package / "checkpoints" / "6").read_text()
    renew_manifest(package, size=6, root=signed_note.CheckpointText.parse(note).root.hex())


@pytest.mark.requirement("R05")
def test_only_a_known_head_reveals_an_end_removed_with_its_checkpoints(package):
    newest = keep_checkpoint(package)
    head = chain.compute_digest(lines_of(package)[9])
    remove_the_last_entries_and_their_checkpoint(package)
    code, output = inspect(package, *KNOWN)
    assert (code, "confirmed only by the installation that made it" in output) == (3, True)
    code, output = inspect(package, *KNOWN, "--known", newest)
    assert (
        code,
        "covers 12 entries, and this trail ends after 6: its end was removed" in output,
    ) == (1, True)
    code, output = inspect(package, *KNOWN, "--known", head)
    assert (code, "no entry has the hash that you gave" in output) == (1, True)


@pytest.mark.requirement("R05")
def test_an_older_head_reveals_a_trail_rewritten_with_its_own_key(package):
    older = keep_checkpoint(package, 6)
    (package / "checkpoints" / "6").unlink()
    edit_and_relink(package)
    sign_with_another_key(package)
    (package / "vkeys.txt").write_text(OTHER.verifier.text)
    note = (package / "checkpoints" / "12").read_text()
    manifest = json.loads((package / "manifest.json").read_text())
    del manifest["files"]["checkpoints/6"]
    (package / "manifest.json").write_text(json.dumps(manifest))
    renew_manifest(package, OTHER, root=signed_note.CheckpointText.parse(note).root.hex())
    assert inspect(package)[0] == 3  # it agrees with itself
    assert inspect(package, *KNOWN)[0] == 1
    code, output = inspect(package, "--known", older)
    assert (code, "the first 6 entries differ from those of a checkpoint" in output) == (1, True)


@pytest.mark.parametrize("size", [6, 12])
def test_an_older_head_in_the_trail_confirms_the_entries_up_to_it(package, size):
    head = chain.compute_digest(lines_of(package)[size - 1])
    for known in (keep_checkpoint(package, size), head, head.upper()):
        code, output = inspect(package, *KNOWN, "--known", known)
        assert (code, f"Confirmed by --known: entries up to {size}." in output) == (0, True)
        assert ("Entries 7 to 12 are not confirmed from outside." in output) == (size == 6)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda p: (p / "manifest.json").unlink(), "there is no manifest.json in"),
        (shutil.rmtree, "there is no manifest.json in"),
    ],
    ids=["no manifest", "no folder"],
)
def test_a_folder_without_a_package_cannot_be_checked(package, damage, expected):
    damage(package)
    code, output = inspect(package)
    assert (code, expected in output) == (2, True)


@pytest.mark.parametrize(
    "given", [["--vkey", "a+b"], ["--vkey", "/no/such/file"], ["--known", "abc"]]
)
def test_a_mistyped_argument_does_not_make_the_package_broken(package, given):
    edit_an_entry(package)  # invalid arguments are reported before faults of the package
    code, output = inspect(package, *given)
    assert (code, output.startswith("CANNOT BE CHECKED: ")) == (2, True)


def test_a_checkpoint_of_another_trail_is_not_compared(package, tmp_path):
    head = signed_note.CheckpointText("another.example/trail", 12, bytes(32))
    (tmp_path / "another").write_text(signed_note.sign_note(head.text, [KEY]))
    code, output = inspect(package, "--known", str(tmp_path / "another"))
    assert (code, "belongs to the trail 'another.example/trail'" in output) == (2, True)


@pytest.mark.parametrize("given", [[], KNOWN], ids=["nothing", "its key"])
def test_a_package_without_a_known_head_is_only_consistent(package, given):
    """The owner of the key can forge the whole package. The signature excludes only others."""
    code, output = inspect(package, *given)
    assert code == 3
    assert output.startswith("COMPLETE: entries 1 to 12.\n")
    source = "the installation that made it" if given else "keys from the package itself"
    assert f"Consistent, but confirmed only by {source}" in output


@pytest.mark.parametrize(
    ("option", "name"), [("--vkey", "vkeys.txt"), ("--known", "checkpoints/12")]
)
def test_files_inside_the_package_are_refused_as_keys_and_checkpoints(package, option, name):
    for given in (package / name, package / "fhir" / ".." / name):
        code, output = inspect(package, option, str(given))
        assert (code, "is inside the package: obtain it from another source" in output) == (2, True)


def redact(seq):
    reason = {"reason": "a person's name"}
    write(subject=f"entry:{seq}", event="ledger.detail_redacted", detail=reason)
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = %s", seq)


@pytest.mark.requirement("R38")
def test_a_redacted_detail_is_not_missing(trail, tmp_path):
    redact(5)
    sign()
    package = make_export(tmp_path / "export")
    code, output = inspect(package, *KNOWN, "--known", keep_checkpoint(package))
    assert code == 0, output
    assert "no. 1 of 2" not in (tmp_path / "export" / "details.ndjson").read_text()


@pytest.mark.requirement("R38")
def test_a_part_contains_the_entry_that_redacted_a_detail(trail, tmp_path):
    redact(5)
    write_documents(5)
    sign()
    part = make_export(tmp_path / "export", doc_id="CV-2")
    assert [json.loads(line)["seq"] for line in lines_of(part)] == [4, 5, 6, 13]
    code, output = inspect(part, *KNOWN, "--known", keep_checkpoint(part), "--part")
    assert code == 0, output


def test_a_part_proves_each_entry_and_reveals_no_other(part):
    code, output = inspect(part, *KNOWN, "--known", keep_checkpoint(part), "--part")
    assert code == 0, output
    everything = b"".join(path.read_bytes() for path in part.rglob("*") if path.is_file())
    assert b"CV-3" in everything
    assert b"CV-4" not in everything
    assert b"DE-014" not in everything


def remove_an_entry_and_its_detail(part):
    write_lines(part, lines_of(part)[:-1])
    details = (part / "details.ndjson").read_text().splitlines(keepends=True)
    (part / "details.ndjson").write_text("".join(details[:-1]))


def remove_the_proofs(part):
    (part / "proofs" / "inclusion.tlog-proofs").write_text("")


def edit_a_proof(part):
    file = part / "proofs" / "inclusion.tlog-proofs"
    index, first, *rest = file.read_text().split("\n")[1:]
    lines = ["c2sp.org/tlog-proof@v1", index, first.swapcase(), *rest]
    file.write_text("\n".join(lines))


def exchange_the_first_two_entries(part):
    first, second, *rest = lines_of(part)
    write_lines(part, [second, first, *rest])


def shorten_a_consistency_proof(part):
    file = part / "proofs" / "6.consistency"
    first, *rest = file.read_text().split("\n")
    file.write_text("\n".join([first, *rest[1:]]))


def edit_a_consistency_proof(part):
    file = part / "proofs" / "6.consistency"
    first, hash_, *rest = file.read_text().split("\n")
    file.write_text("\n".join([first, hash_.swapcase(), *rest]))


def add_an_older_checkpoint_of_another_trail(part):
    frontier = merkle_tree.Frontier()
    for n in range(6):
        frontier.add(merkle_tree.hash_leaf(f"line {n}"))
    head = signed_note.CheckpointText(NAME, 6, frontier.root())
    (part / "checkpoints" / "6").write_text(signed_note.sign_note(head.text, [KEY]))


def sign_a_part_with_another_key(part):
    file = part / "checkpoints" / "12"
    head = file.read_text().partition("\n\n")[0] + "\n"
    file.write_text(signed_note.sign_note(head, [KEY, OTHER]))


PART_TAMPERINGS = {
    edit_the_last_entry: "entry 9 is not proved by the checkpoint of 12 entries",
    exchange_the_first_two_entries: "entry 8 is not proved by the checkpoint of 12 entries",
    remove_an_entry_and_its_detail: "the entry of a proof is missing",
    remove_the_proofs: "entry 7 is not proved",
    edit_a_proof: "entry 7 is not proved by the checkpoint of 12 entries",
    remove_a_detail: "details are missing: ['entry:7']",
    remove_the_last_line_break: "the line after entry 8 is incomplete",
    sign_a_part_with_another_key: "entry 7 is not proved by the checkpoint of 12 entries",
    shorten_a_consistency_proof: "a consistency proof has the wrong length",
    edit_a_consistency_proof: "is not an extension of the checkpoint of 6 entries",
    add_an_older_checkpoint_of_another_trail: "not an extension of the checkpoint of 6",
}


@pytest.mark.sampled(3)
@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("change", "message"), PART_TAMPERINGS.items(), ids=lambda c: getattr(c, "__name__", "")
)
def test_each_change_of_a_part_is_found(part, change, message):
    change(part)
    renew_manifest(part, None)
    assert inspect(part) == (1, NOT_SIGNED)
    renew_manifest(part)
    code, output = inspect(part)
    assert (code, message in output) == (1, True), output


def test_a_part_is_reported_as_a_part_and_accepted_with_the_option(part):
    statement = 'PART: 3 of 12 entries; completeness not shown; filters: {"doc_id": "CV-3"}.\n'
    for given, expected in (([], 4), (["--part"], 3)):
        code, output = inspect(part, *KNOWN, *given)
        assert (code, output.startswith(statement)) == (expected, True), output
    for given, expected in (([], 4), (["--part"], 0)):
        code, output = inspect(part, *KNOWN, "--known", keep_checkpoint(part), *given)
        assert (code, output.startswith(statement)) == (expected, True), output


def test_a_part_is_compared_with_an_older_checkpoint_by_its_consistency_proof(
    part, package, exports
):
    older = keep_checkpoint(package, 6)
    code, output = inspect(part, *KNOWN, "--part", "--known", older)  # its entries are 7 to 9
    assert (code, "confirmed only by the installation that made it" in output) == (3, True), output
    code, output = inspect(exports / "older-part", *KNOWN, "--part", "--known", older)
    assert (code, "Confirmed by --known: entries up to 6." in output) == (0, True), output


def test_a_known_entry_of_a_part_confirms_only_itself(part, package):
    """No chain connects it with the other entries, which the owner of the key could have forged."""
    lines = lines_of(package)
    code, output = inspect(part, "--part", "--known", chain.compute_digest(lines[6]))
    statement = "--known confirms entry 7, and no other entry of this part."
    assert (code, statement in output) == (3, True), output
    code, output = inspect(part, "--part", "--known", chain.compute_digest(lines[2]))
    assert (code, "no entry has the hash that you gave" in output) == (2, True)


def test_a_part_cannot_be_compared_with_a_checkpoint_without_a_consistency_proof(part, tmp_path):
    frontier = merkle_tree.Frontier()
    frontier.add(merkle_tree.hash_leaf("another line"))
    known = tmp_path / "known"
    known.write_text(
        signed_note.sign_note(signed_note.CheckpointText(NAME, 1, frontier.root()).text, [KEY])
    )
    code, output = inspect(part, "--part", "--known", str(known))
    assert (code, "this part has no consistency proof from 1 entries" in output) == (2, True)


def test_an_older_checkpoint_reveals_a_part_of_a_rewritten_trail(part, package, tmp_path):
    older, newest = keep_checkpoint(package, 6), keep_checkpoint(package, 12)
    frontier = merkle_tree.Frontier()
    for line in [*lines_of(package)[:5], *lines_of(package)[6:], "one more"]:
        frontier.add(merkle_tree.hash_leaf(line))
    head = signed_note.CheckpointText(NAME, 12, frontier.root())
    (part / "checkpoints" / "12").write_text(signed_note.sign_note(head.text, [KEY]))
    renew_manifest(part, root=head.root.hex())
    for known in (older, newest):
        assert inspect(part, "--part", "--known", known)[0] == 1


@pytest.mark.parametrize("size", ["0", "-1", "x", "9" * 5000])
def test_a_checkpoint_with_an_invalid_size_is_refused(part, size):
    (part / "checkpoints" / "6").write_text(f"{NAME}\n{size}\n{'A' * 43}=\n\n\u2014 x AAAA\n")
    renew_manifest(part)
    assert inspect(part)[0] == 1
