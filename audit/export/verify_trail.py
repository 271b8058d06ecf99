#!/usr/bin/env python3
"""Checks an exported audit trail, with Python 3.8 or later and nothing else.

    python3 verify_trail.py FOLDER --vkey KEY --known HEAD

Take this file, KEY and HEAD from somewhere else than FOLDER: from the sponsor, an earlier
inspection, the write-once store. KEY is a public key NAME+ID+KEY, or a file with keys. HEAD is a
hash that you noted, or a checkpoint that you kept. Both may be given more than once.

Exit codes: 0 it holds; 1 it does not, and the first fault is named; 2 it cannot be checked; 3 it
agrees with itself, but nothing from outside was given to compare it with.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
from hashlib import sha256, sha512
from pathlib import Path
from typing import Any, BinaryIO, Iterator, NamedTuple

REDACTED = b'"event":"ledger.detail_redacted"'
CHANGED = "one of the two was changed, removed or moved"


class Fails(Exception):
    """It does not hold."""


class CannotCheck(Exception):
    """Nothing can be said."""


# --- Ed25519 signatures (RFC 8032, 5.1): points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z --

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = Any


def point(raw: bytes) -> Point:
    """The point that 32 bytes stand for, or None."""
    y, is_odd = int.from_bytes(raw, "little") % 2**255, raw[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and is_odd):
        return None
    x = P - x if x % 2 != is_odd else x
    return x, y, 1, x * y % P


def plus(p: Point, q: Point) -> Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n: int, p: Point) -> Point:
    total = (0, 1, 1, 0)
    while n:
        total = plus(total, p) if n & 1 else total
        p, n = plus(p, p), n >> 1
    return total


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(public: bytes, text: bytes, signature: bytes) -> bool:
    if len(public) != 32 or len(signature) != 64:
        return False
    key, r, s = point(public), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= ORDER:
        return False
    h = int.from_bytes(sha512(signature[:32] + public + text).digest(), "little") % ORDER
    (x, y, z, _), (u, v, w, _) = times(s, BASE), plus(r, times(h, key))
    return bool((x * w - u * z) % P == 0 and (y * w - v * z) % P == 0)


# --- Checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint) ---------------------------------


class Checkpoint(NamedTuple):
    origin: str
    size: int
    root: bytes
    signers: list[str]  # the keys asked for that signed it


def keys_in(text: str) -> dict[str, bytes]:
    """The Ed25519 keys in a text, by NAME+ID; those of other kinds are passed over."""
    keys = {}
    for name, id_, encoded in re.findall(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", text):
        key = base64.b64decode(encoded)
        if sha256(name.encode() + b"\n" + key).hexdigest()[:8] != id_:
            raise CannotCheck(f"not a key as it should be: {name}+{id_}")
        if key[:1] == b"\x01":
            keys[f"{name}+{id_}"] = key[1:]
    return keys


def checkpoint(note: str, keys: dict[str, bytes]) -> Checkpoint:
    try:
        text, _, signatures = note.rpartition("\n\n")
        origin, size, root = text.split("\n")[:3]
        lines = [line.split(" ") for line in signatures.rstrip("\n").split("\n")]
        signed = [(name, base64.b64decode(rest)) for _dash, name, rest in lines]
        head = Checkpoint(origin, int(size), base64.b64decode(root), [])
    except ValueError:
        head = Checkpoint("", 0, b"", [])
    if head.size < 1 or len(head.root) != 32:
        raise Fails(f"not a checkpoint: {note[:80]!r}")
    for name, raw in signed:
        label = f"{name}+{raw[:4].hex()}"
        if label in keys:
            if not is_signed(keys[label], text.encode() + b"\n", raw[4:]):
                raise Fails(f"checkpoint {size}: the signature of {label} does not hold")
            head.signers.append(label)
    return head


# --- The tree (RFC 6962, 2.1) and its proofs (RFC 9162, 2.1.3.2 and 2.1.4.2) ----------------------


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def folded(roots: list[bytes]) -> bytes:
    """The root of a tree, from those of the perfect trees it is made of."""
    root = roots[-1]
    for left in roots[-2::-1]:
        root = node(left, root)
    return root


def climbed(index: int, last: int, path: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The nodes of a proof from the leaf up, and whether each stands on the left."""
    for other in path:
        if last == 0:
            raise Fails("a proof is too long")
        is_left = index % 2 == 1 or index == last
        yield other, is_left
        while is_left and index % 2 == 0 and index:
            index, last = index >> 1, last >> 1
        index, last = index >> 1, last >> 1
    if last:
        raise Fails("a proof is too short")


def root_above(line: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    root = sha256(b"\x00" + line).digest()
    for other, is_left in climbed(index, size - 1, path):
        root = node(other, root) if is_left else node(root, other)
    return root


def grew(old: Checkpoint, new: Checkpoint, path: list[bytes]) -> bool:
    """Whether the proof shows that `new` is `old` with entries added."""
    if old.size & (old.size - 1) == 0:
        path = [old.root, *path]
    index, last = old.size - 1, new.size - 1
    while index % 2:
        index, last = index >> 1, last >> 1
    old_root = new_root = path[0] if path else b""
    for other, is_left in climbed(index, last, path[1:]):
        old_root = node(other, old_root) if is_left else old_root
        new_root = node(other, new_root) if is_left else node(new_root, other)
    return (old_root, new_root) == (old.root, new.root)


# --- The package ----------------------------------------------------------------------------------


class Details:
    """details.ndjson, read beside the entries: both are in the order of `seq`."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.count = file, 0
        self.missing: set[int] = set()
        self.taken_out: set[int] = set()
        self.next()

    def next(self) -> None:
        line = self.file.readline()
        self.now: dict[str, Any] = json.loads(line) if line else {"seq": 0}

    def check(self, seq: int, line: bytes) -> None:
        at = line.find(b'"detail_commit":"') + 17
        commit = line[at : at + 64]
        if self.now["seq"] == seq:
            salt, text = bytes.fromhex(self.now["salt"]), self.now["detail"].encode()
            if sha256(salt + text).hexdigest().encode() != commit:
                raise Fails(f"entry {seq}: its detail was changed")
            self.count += 1
            self.next()
        elif commit[:1] != b'"':
            self.missing.add(seq)
        if REDACTED in line:
            self.taken_out.add(int(json.loads(line)["subject"].partition(":")[2]))

    def end(self) -> None:
        if self.now["seq"]:
            raise Fails(f"a detail of entry {self.now['seq']}, which is not in its place here")
        if lost := sorted(self.missing - self.taken_out):
            raise Fails(f"entry {lost[0]}: its detail is missing, and no entry says why")


class Package:
    def __init__(self, folder: Path, given: argparse.Namespace) -> None:
        self.folder, self.given, self.count, self.shown = folder, given, 0, 0
        asked = {"doc_id": given.doc, "correlation_id": given.correlation}
        self.timeline = {name: value for name, value in asked.items() if value}
        raw = (folder / "manifest.json").read_bytes()
        self.manifest, self.manifest_hash = json.loads(raw), sha256(raw).hexdigest()
        own = folder / "vkeys.txt"
        self.trusted: dict[str, bytes] = {}
        for key in given.vkey:
            if not (found := keys_in(text_of(key))):
                raise CannotCheck(f"not a key of the form NAME+ID+KEY: {key}")
            self.trusted.update(found)
        self.keys = {**keys_in(own.read_text("utf-8") if own.is_file() else ""), **self.trusted}
        heads = [head for head in given.known if re.fullmatch("[0-9a-f]{64}", head)]
        self.heads = {bytes.fromhex(head) for head in heads}
        kept = [text_of(note) for note in given.known if note not in heads]
        self.kept = [checkpoint(note, self.keys) for note in kept]

    def check(self) -> None:
        self.check_files()
        self.check_checkpoints()
        with (self.folder / "details.ndjson").open("rb") as file:
            self.details = Details(file)
            (self.walk if self.manifest["whole"] else self.walk_part)()
            self.details.end()
        if self.count != self.manifest["entries"]:
            raise Fails(f"the manifest says {self.manifest['entries']} entries, not {self.count}")
        if self.heads:
            head = min(self.heads).hex()
            if self.manifest["whole"]:
                raise Fails(f"the head that you know is not in this trail: {head}")
            raise CannotCheck(f"this part has not the entry {head}: compare with a checkpoint")

    def check_files(self) -> None:
        if self.given.manifest not in (None, self.manifest_hash):
            raise Fails(f"manifest.json is not the one you know: it has {self.manifest_hash}")
        for name, expected in self.manifest["files"].items():
            path = self.folder / name
            if ".." in name or not path.is_file():
                raise Fails(f"{name} is missing")
            if file_hash(path) != expected:
                raise Fails(f"{name} was changed: its hash is not that of the manifest")

    def check_checkpoints(self) -> None:
        paths = [p for p in (self.folder / "checkpoints").iterdir() if p.name.isdigit()]
        notes = [checkpoint(path.read_text("utf-8"), self.keys) for path in paths]
        self.checkpoints = {note.size: note for note in notes}
        said = self.manifest["size"]
        if said not in self.checkpoints or max(self.checkpoints) != said:
            raise Fails(f"the newest checkpoint here is not that of {said} entries")
        self.top = self.checkpoints[said]
        if (self.top.origin, self.top.root.hex()) != (
            self.manifest["origin"],
            self.manifest["root"],
        ):
            raise Fails("the manifest names another checkpoint")
        asked = self.trusted or self.keys
        if asked and not asked.keys() & set(self.top.signers):
            raise Fails(f"checkpoint {said} is not signed by {' or '.join(asked)}")
        for known in self.kept:
            if known.size > said:
                raise Fails(f"the end is missing: you know {known.size} entries, here are {said}")
            if known.origin != self.top.origin:
                raise Fails(f"the checkpoint that you know is of another trail: {known.origin}")

    def signed_roots(self) -> dict[int, set[bytes]]:
        roots: dict[int, set[bytes]] = {}
        for known in [*self.checkpoints.values(), *self.kept]:
            roots.setdefault(known.size, set()).add(known.root)
        return roots

    def walk(self) -> None:
        """All of the trail: each line against the one before, the tree against all checkpoints."""
        wanted = self.signed_roots()
        roots: list[bytes] = []
        head, seq, end = b"0" * 64, 0, self.end_of_lines()
        look_at_all = bool(self.heads or self.timeline)
        with (self.folder / "entries.ndjson").open("rb") as lines:
            for raw in lines:
                line, size, seq = raw[:-1], seq, seq + 1
                if b'"prev":"%s","' % head not in line or b'","seq":%d,"' % seq not in line:
                    raise Fails(f"entry {seq} does not follow the line before it: {CHANGED}")
                if not raw.endswith(end):
                    raise Fails(f"entry {seq} is not of this trail")
                hash_ = sha256(line)
                head = hash_.hexdigest().encode()
                leaf = sha256(b"\x00" + line).digest()
                while size & 1:
                    leaf, size = sha256(b"\x01" + roots.pop() + leaf).digest(), size >> 1
                roots.append(leaf)
                if seq in wanted and wanted[seq] != {folded(roots)}:
                    raise Fails(f"the first {seq} entries are not those of its checkpoint")
                if look_at_all or b'"detail_commit":"",' not in line or REDACTED in line:
                    self.look(seq, line, hash_.digest())
        if seq != self.top.size or head.decode() != self.manifest["head"]:
            raise Fails(f"the checkpoint says {self.top.size} entries, and here are {seq}")
        self.count = seq

    def walk_part(self) -> None:
        """A part of the trail: each line by its own proof under the checkpoint."""
        self.check_growth()
        seq, head, end, top = 0, "", self.end_of_lines(), self.top
        note = (self.folder / "checkpoints" / str(top.size)).read_text("utf-8")
        proofs = (self.folder / "proofs" / "inclusion.tlog-proofs").open("r", encoding="utf-8")
        with (self.folder / "entries.ndjson").open("rb") as lines, proofs:
            for raw in lines:
                line, before = raw[:-1], seq
                fields = json.loads(line)
                seq, self.count = fields["seq"], self.count + 1
                index, path = next_proof(proofs, note)
                if seq <= before or (seq == before + 1 and before and fields["prev"] != head):
                    raise Fails(f"entry {seq} does not follow the line before it: {CHANGED}")
                if index != seq - 1 or root_above(line, index, top.size, path) != top.root:
                    raise Fails(
                        f"entry {seq} is not proved by the checkpoint of {top.size} entries"
                    )
                if not raw.endswith(end):
                    raise Fails(f"entry {seq} is not of this trail")
                head = sha256(line).hexdigest()
                self.look(seq, line, bytes.fromhex(head))
                self.heads.discard(bytes.fromhex(fields["prev"]))
            if proofs.readline():
                raise Fails("a proof is there whose entry is missing")

    def check_growth(self) -> None:
        for old in [*self.checkpoints.values(), *self.kept]:
            path = self.folder / "proofs" / f"{old.size}.consistency"
            if old.size == self.top.size:
                fits = old.root == self.top.root
            elif path.is_file():
                fits = grew(old, self.top, hashes(path.read_text("utf-8").split("\n")[1:]))
            else:
                kind = Fails if old.size in self.checkpoints else CannotCheck
                raise kind(f"nothing here leads from {old.size} entries to {self.top.size}")
            if not fits:
                raise Fails(f"the trail is not the one of which {old.size} entries were signed")

    def end_of_lines(self) -> bytes:
        trail = json.dumps(self.manifest["trail"], ensure_ascii=False)
        return f'"trail":{trail},"v":1}}\n'.encode()

    def look(self, seq: int, line: bytes, hash_: bytes) -> None:
        """What is compared and shown of an entry that is in its place."""
        self.details.check(seq, line)
        self.heads.discard(hash_)
        if self.timeline:
            fields = json.loads(line)
            if all(fields[name] == value for name, value in self.timeline.items()):
                move = f"{fields['from'] or '-'} > {fields['to'] or '-'}"
                said = [str(seq), fields["recorded_at"], fields["event"], move, fields["code"]]
                print("  ".join([*said, fields["actor"], fields["sha256"][:16], hash_.hex()]))
                self.shown += 1


def next_proof(file: Any, note: str) -> tuple[int, list[bytes]]:
    """The next of the proofs (c2sp.org/tlog-proof) that stand one after the other."""
    if file.readline() != "c2sp.org/tlog-proof@v1\n":
        raise Fails("an entry has no proof")
    index = int(file.readline().partition(" ")[2])
    path = hashes(iter(file.readline, "\n"))
    if file.read(len(note)) != note:
        raise Fails(f"the proof of entry {index + 1} is not under the newest checkpoint here")
    return index, path


def hashes(lines: Any) -> list[bytes]:
    """Base64 lines up to the first empty one."""
    found = []
    for line in lines:
        if not line.strip():
            break
        found.append(base64.b64decode(line))
    return found


def text_of(given: str) -> str:
    """A file's text where there is such a file, else what was given."""
    path = Path(given)
    return path.read_text("utf-8") if len(given) < 200 and path.is_file() else given


def file_hash(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--vkey", action="append", default=[], help="a public key that you know")
    parser.add_argument("--known", action="append", default=[], help="a head that you know")
    parser.add_argument("--manifest", metavar="SHA256", help="the manifest's hash, if you know it")
    parser.add_argument("--doc", metavar="ID", help="print this document's timeline")
    parser.add_argument("--correlation", metavar="ID", help="print this packet's timeline")
    given = parser.parse_args()
    try:
        package = Package(given.folder, given)
    except (OSError, ValueError, KeyError, Fails, CannotCheck) as error:
        print(f"CANNOT BE CHECKED: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    try:
        package.check()
    except (OSError, CannotCheck) as error:
        print(f"CANNOT BE CHECKED: {error}", file=sys.stderr)
        return 2
    except Fails as error:
        print(f"DOES NOT HOLD: {error}.")
        return 1
    except (ValueError, KeyError, TypeError) as error:
        print(f"DOES NOT HOLD: a file is not in the form it should have: {error!r}.")
        return 1
    return told(package, given)


def told(package: Package, given: argparse.Namespace) -> int:
    manifest, top, details = package.manifest, package.top, package.details
    all_of_it = f"all, up to head {manifest['head']}"
    part = all_of_it if manifest["whole"] else f"{package.count:,} of them, each proved"
    print(f"Trail {manifest['trail']}: {top.size:,} entries at {top.origin}'s checkpoint.")
    print(f"Here: {part}. The manifest's SHA-256: {package.manifest_hash}.")
    print(f"Details: {details.count:,} agree, {len(details.missing)} taken out on record.")
    if package.timeline:
        print(f"Shown: {package.shown} entries of {' and '.join(package.timeline.values())}.")
    print(f"Signed by: {', '.join(top.signers) or 'no key that is known here'}.")
    for token in sorted((package.folder / "checkpoints").glob("*.tsr")):
        data = token.with_suffix("")
        print(f"Time stamp, for openssl: ts -verify -in {token} -data {data} -CAfile THE-TSA'S-CA")
    listed = {"manifest.json", "run.json", *manifest["files"]}
    for path in sorted(package.folder.rglob("*")):
        if path.is_file() and path.relative_to(package.folder).as_posix() not in listed:
            print(f"Not in the manifest, and not checked as a whole: {path}")
    outside = {"key": given.vkey, "head": given.known, "manifest": given.manifest}
    if any(outside.values()):
        print(f"HOLDS, compared with your {' and '.join(w for w in outside if outside[w])}.")
        return 0
    print("HOLDS IN ITSELF: nothing from outside this folder was compared (--vkey, --known).")
    return 3


if __name__ == "__main__":
    sys.exit(main())
