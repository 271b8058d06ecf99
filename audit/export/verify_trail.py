"""Verify an exported audit trail: python3 verify_trail.py FOLDER --vkey KEY --known HEAD .

KEY is the trail's public key, NAME+ID+KEY, or a file with keys. HEAD is a checkpoint's file, the
hash of an entry, or the SHA-256 of manifest.json. Obtain both, and this file, from another source
than FOLDER. --part accepts a part of a trail; --doc ID and --correlation ID print timelines.

Exit codes, the first that applies: 2 the package cannot be checked; 1 the package is broken; 4 the
package is a valid part, and you did not give --part; 3 the package is consistent, but no HEAD that
you gave confirms it; 0 the package is valid, and a HEAD that you gave confirms it.
"""

import argparse
import json
import os
import re
import stat
import sys
from base64 import b64decode
from functools import partial, reduce
from hashlib import sha256, sha512
from itertools import takewhile
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

FORMAT = "siteledger-audit-export/2"
UNSIGNED_FORMAT = "siteledger-audit-export/1"  # written by releases that did not sign the manifest
MANIFEST, NOTE = "manifest.json", "manifest.json.note"
UNLISTED = {MANIFEST, NOTE, "run.json"}  # the files that the manifest does not name
PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*").fullmatch
TEXT = r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'  # in JSON
DETAIL = re.compile(
    r'{"detail":(' + TEXT + r'),"salt":"([0-9a-f]{32})","seq":([0-9]+)}\n'
).fullmatch
CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
FAULTS = (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
UNCONFIRMED = (
    "Consistent, but confirmed only by the installation that made it: nothing from another source "
    "confirms the entries. Give --known a checkpoint or a head that you kept from an earlier time."
)
NO_KEY = (
    "Consistent, but confirmed only by keys from the package itself: anyone could have signed its "
    "manifest. Give --vkey the key that was published to you."
)
UNSIGNED = (
    "manifest.json is not signed. An older release made this package, or the signature was "
    "removed. Nothing proves its filters, timeline.csv, report.pdf and fhir/. Request a new "
    "export, or give --known the SHA-256 of manifest.json that is recorded in the ledger."
)
REDACTED = b'"event":"ledger.detail_redacted"'
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE = (4 * pow(5, P - 2, P) % P).to_bytes(32, "little")


class CannotCheck(Exception):
    """An input that the check needs is missing, unreadable or not comparable."""


def require(condition: object, message: str) -> None:
    """Raise ValueError with this message if the condition is false."""
    if not condition:
        raise ValueError(message)


def reraise(error: OSError) -> None:
    """Raise an error of `os.walk`, which ignores errors by default."""
    raise error


# --- Ed25519 (RFC 8032, 5.1): a point is (X, Y, Z, T) with x = X/Z, y = Y/Z and xy = T/Z ----------
def point(raw: bytes) -> Any:
    """Return the point of an encoded key (RFC 8032, 5.1.3). Raises ValueError if there is none."""
    y, sign = int.from_bytes(raw, "little") % 2**255, raw[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    x = x if x % 2 == sign else P - x
    require(len(raw) == 32 and y < P and x < P and x * x % P == square, "not a public key")
    return x, y, 1, x * y % P


def plus(p: Any, q: Any) -> Any:
    """Return the sum of two points in extended coordinates (RFC 8032, 5.1.4)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n: int, p: Any) -> Any:
    """Return the point `p`, added `n` times."""
    half = times(n // 2, plus(p, p)) if n else (0, 1, 1, 0)
    return plus(half, p) if n % 2 else half


def is_signed(public: bytes, text: bytes, signature: bytes) -> Any:
    """Return whether the Ed25519 signature of the text is valid (RFC 8032, 5.1.7)."""
    x, y, z, t = point(public)
    s = int.from_bytes(signature[32:], "little") % ORDER
    h = int.from_bytes(sha512(signature[:32] + public + text).digest(), "little") % ORDER
    x, y, z, t = plus(times(s, point(BASE)), times(h, (-x, y, z, -t)))  # R = s B - h A
    x, y = x * pow(z, P - 2, P) % P, y * pow(z, P - 2, P) % P
    return signature == (y | x % 2 << 255).to_bytes(32, "little") + s.to_bytes(32, "little")


# --- Signed notes (c2sp.org/signed-note) and checkpoints (c2sp.org/tlog-checkpoint) ---------------
Keys = Dict[str, bytes]  # public keys by NAME+ID


class Checkpoint(NamedTuple):
    """A statement that the trail had `size` entries, whose tree had this root."""

    origin: str
    size: int
    root: bytes
    signers: Set[str]  # the keys that signed it and have the name of the trail


def parse_keys(text: str) -> Keys:
    """Return the Ed25519 keys of the form NAME+ID+KEY in a text; ignore a key with a wrong ID."""
    keys = {}
    for name, id_, encoded in re.findall(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", text):
        key = b64decode(encoded)
        if sha256(f"{name}\n".encode() + key).hexdigest()[:8] == id_ and key[0] == 1:
            keys[f"{name}+{id_}"] = key[1:]  # 1: Ed25519; other kinds are ignored
    return keys


def open_note(note: bytes, keys: Keys) -> Tuple[bytes, Set[str]]:
    """Return the text of a signed note, and the names of the given keys that signed it.

    Raises ValueError if the note is malformed, or a signature by one of these keys is wrong.
    """
    text, gap, lines = note.rpartition(b"\n\n")
    text, signers = text + b"\n", set()
    require(gap and lines.endswith(b"\n"), "not a signed note")
    for line in lines[:-1].decode().split("\n"):
        name, _, encoded = line[2:].partition(" ")
        raw = b64decode(encoded, validate=True)
        require(line[:2] == "\u2014 " and len(raw) > 4, f"not a signature line: {line!a}")
        key = f"{name}+{raw[:4].hex()}"
        if key in keys:
            require(is_signed(keys[key], text, raw[4:]), f"{key} did not sign it")
            signers.add(key)
    return text, signers


def read_checkpoint(path: Path, keys: Keys) -> Checkpoint:
    """Read a checkpoint from its file. Raises ValueError if it is malformed or wrongly signed."""
    text, signers = open_note(path.read_bytes(), keys)
    origin, size, encoded, *_ = text.decode().split("\n")
    (root,) = decode_hashes([encoded])
    require(re.fullmatch("[1-9][0-9]{0,15}", size), f"{path.name} is not a checkpoint")
    trail_keys = {key for key in signers if key.startswith(f"{origin}+")}
    return Checkpoint(origin, int(size), root, trail_keys)


# --- The Merkle tree (RFC 6962, 2.1) --------------------------------------------------------------
def decode_hashes(lines: Iterable[str]) -> List[bytes]:
    """Return the hashes of a proof from lines in base64.

    Raises ValueError unless each has 32 bytes.
    """
    hashes = [b64decode(line, validate=True) for line in lines]
    require(all(len(hash_) == 32 for hash_ in hashes), "a hash does not have 32 bytes")
    return hashes


def hash_node(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node over two subtrees (RFC 6962, 2.1)."""
    return sha256(b"\x01" + left + right).digest()


def left_size(size: int) -> int:
    """Return the number of leaves in the left subtree: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root_from_inclusion(leaf: bytes, index: int, size: int, path: List[bytes]) -> bytes:
    """Compute the root over `size` leaves from a leaf and its inclusion proof (2.1.1).

    Return b"" if the proof does not have the right length.
    """
    if size <= 1 or not path:
        return leaf if (index, size, path) == (0, 1, []) else b""
    left = left_size(size)
    if index < left:
        return hash_node(root_from_inclusion(leaf, index, left, path[:-1]), path[-1])
    return hash_node(path[-1], root_from_inclusion(leaf, index - left, size - left, path[:-1]))


def roots_from_consistency(
    old: int, size: int, path: List[bytes], root: bytes
) -> Tuple[bytes, bytes]:
    """Compute the roots over `old` and over `size` leaves from a consistency proof (2.1.2).

    `root` is the root over the first `old` leaves, or b"" if the proof contains it.
    Raises ValueError if the proof does not have the right length.
    """
    require(size > old or len(path) == (not root), "a consistency proof has the wrong length")
    if old == size:
        return root or path[0], root or path[0]
    require(path, "a consistency proof has the wrong length")
    left = left_size(size)
    if old <= left:
        before, after = roots_from_consistency(old, left, path[:-1], root)
        return before, hash_node(after, path[-1])
    before, after = roots_from_consistency(old - left, size - left, path[:-1], b"")
    return hash_node(path[-1], before), hash_node(path[-1], after)


# --- JSON -----------------------------------------------------------------------------------------
def build_object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return a JSON object as a dict. Raises ValueError if a key occurs twice."""
    found = dict(pairs)
    require(len(found) == len(pairs), "a JSON object contains a key twice")
    return found


def reject_number(number: str) -> None:
    """Raise ValueError for a number with a fraction or an exponent, NaN or Infinity."""
    raise ValueError(f"{number} is not a whole number")


parse_json = json.JSONDecoder(
    object_pairs_hook=build_object, parse_float=reject_number, parse_constant=reject_number
).decode
scan_json = json.JSONDecoder(parse_float=reject_number, parse_constant=reject_number).raw_decode


def parse_detail(line: str) -> Tuple[int, bytes]:
    """Return the entry's number and the bytes that its `detail_commit` is the SHA-256 of."""
    found = DETAIL(line)
    if not found:
        raise ValueError(f"not a canonical line of detail, salt (32 hex) and seq: {line[:99]!a}")
    text, _ = scan_json(found[1])
    fits = encode_basestring(text) == found[1] and CANONICAL(scan_json(text)[0]) == text
    if not fits or text[0] != "{":
        raise ValueError(f"not a canonical detail: {line[:99]!a}")
    return int(found[3]), bytes.fromhex(found[2]) + text.encode()


class Trail:
    """The package in `folder`, and the keys, checkpoints and hashes that the inspector gave.

    `known` has paths of checkpoints, and hashes of entries or of manifest.json, in hex.
    """

    def __init__(self, folder: Path, vkeys: List[str], known: Set[str]) -> None:
        self.folder, self.keys = folder, {}
        for argument in vkeys:
            is_file = Path(argument).is_file()
            text = self.external_path(argument).read_text("utf-8") if is_file else argument
            self.keys.update(parse_keys(text))
            if not parse_keys(text):
                raise CannotCheck(f"{argument} has no key of the form NAME+ID+KEY")
        self.hashes = {each.lower() for each in known if re.fullmatch("[0-9a-fA-F]{64}", each)}
        paths = sorted(each for each in known if each.lower() not in self.hashes)
        self.known_checkpoints = {
            path: read_checkpoint(self.external_path(path), self.keys) for path in paths
        }
        self.confirmed_to = 0  # the last entry that --known confirms

    def external_path(self, argument: str) -> Path:
        """Return the path of a file. Raises CannotCheck if the file is inside the package."""
        path = Path(argument).resolve()
        if self.folder.resolve() in path.parents:
            raise CannotCheck(f"{argument} is inside the package: obtain it from another source")
        return path

    def check(self, requested: Set[str]) -> None:
        """Check the package, and print the timelines of the requested documents and packets.

        Raises one of FAULTS if the package is broken, CannotCheck if it cannot be compared.
        """
        self.check_signature()
        self.check_manifest()
        self.check_files()
        self.check_checkpoints()
        self.check_entries(requested)

    def files(self) -> Iterator[str]:
        """Yield the paths of the files in the package. Raises ValueError for links and devices."""
        for parent, folders, files in os.walk(str(self.folder), onerror=reraise):
            for path in (Path(parent, name) for name in folders + files):
                name, mode = path.relative_to(self.folder).as_posix(), path.lstat().st_mode
                is_file = stat.S_ISREG(mode)
                require(is_file or stat.S_ISDIR(mode), f"{name!a} is neither a file nor a folder")
                if is_file:
                    yield name

    def check_signature(self) -> None:
        """Check that the manifest is the one that was signed, with a key of its trail."""
        if not (self.folder / MANIFEST).exists():
            raise CannotCheck(f"there is no {MANIFEST} in {self.folder}")
        self.present = set(self.files())
        raw, signers = (self.folder / MANIFEST).read_bytes(), set()
        self.has_package_keys = not self.keys
        if not self.keys and "vkeys.txt" in self.present:
            self.keys = parse_keys((self.folder / "vkeys.txt").read_text("utf-8"))
        self.is_covered, self.digest = NOTE in self.present, sha256(raw).hexdigest()
        if self.is_covered:
            text, signers = open_note((self.folder / NOTE).read_bytes(), self.keys)
            expected = f"{FORMAT} {MANIFEST}\nsha256 {self.digest}\n".encode()
            require(text == expected, f"{MANIFEST} differs from the signed one")
        self.manifest = parse_json(raw.decode())
        format_, origin = self.manifest["format"], self.manifest["origin"]
        if format_ not in (FORMAT, UNSIGNED_FORMAT):
            raise CannotCheck(f"the format is {format_!a}, and this program supports {FORMAT}")
        if format_ == FORMAT or self.is_covered:
            require(self.is_covered, f"{NOTE} is missing: {MANIFEST} is not signed")
            is_signed_by_trail = any(key.startswith(f"{origin}+") for key in signers)
            require(is_signed_by_trail, f"{MANIFEST} is not signed by a known key")

    def check_manifest(self) -> None:
        """Check that the manifest does not contradict itself."""
        manifest = self.manifest
        names = ("size", "entries", "first_seq", "last_seq", "details")
        is_consistent = all(type(manifest[name]) is int for name in names)
        is_consistent = is_consistent and manifest["whole"] is (manifest["filters"] == {})
        require(is_consistent, f"{MANIFEST} contradicts itself")
        self.size = manifest["size"]
        self.is_known = self.digest in self.hashes
        if self.is_known:
            self.hashes.discard(self.digest)
            self.is_covered, self.confirmed_to = True, self.size

    def check_files(self) -> None:
        """Check that the files are exactly those that the manifest names, unchanged."""
        files = self.manifest["files"]
        for name in files:
            require(PATH(name), f"{name!a} is not a valid path in the package")
        missing, added = set(files) - self.present, self.present - set(files) - UNLISTED
        require(not missing, f"files that the manifest names are missing: {sorted(missing)}")
        require(
            not added, f"the package has files that the manifest does not name: {sorted(added)!a}"
        )
        for name, expected in files.items():
            digest = sha256()
            with (self.folder / name).open("rb") as file:
                for block in iter(partial(file.read, 65536), b""):
                    digest.update(block)
            require(
                digest.hexdigest() == expected,
                f"{name} was changed: its SHA-256 is not that of the manifest",
            )

    def check_checkpoints(self) -> None:
        """Check that the checkpoints of the package and of --known belong to this trail."""
        whole, origin, checkpoints = self.manifest["whole"], self.manifest["origin"], {}
        for name in self.manifest["files"]:
            if re.fullmatch("checkpoints/[0-9]+", name):
                found = checkpoints[name] = read_checkpoint(self.folder / name, self.keys)
                is_own = (f"checkpoints/{found.size}", found.origin) == (name, origin)
                require(
                    is_own and found.size <= self.size, f"{name} is not a checkpoint of this trail"
                )
        require(
            f"checkpoints/{self.size}" in checkpoints,
            f"the checkpoint of {self.size} entries is missing",
        )
        self.last = checkpoints[f"checkpoints/{self.size}"]
        self.roots = {each.size: each.root for each in checkpoints.values()}
        require(
            self.last.root.hex() == self.manifest["root"],
            f"the root in {MANIFEST} differs from that of the checkpoint",
        )
        is_signed_by_trail = self.last.signers or not self.keys
        require(is_signed_by_trail, f"checkpoints/{self.size} is not signed by a known key")
        for old in () if whole else sorted(self.roots.keys() - {self.size}):
            self.check_consistency(old)
        for path, head in self.known_checkpoints.items():
            if head.origin != origin:
                raise CannotCheck(f"{path} belongs to the trail {head.origin!a}, not to {origin!a}")
            sizes = f"{path} covers {head.size} entries, and this trail ends after {self.size}"
            require(
                head.size <= self.size, f"{sizes}: its end was removed, or it is an older export"
            )
            if not whole and head.size not in self.roots:
                raise CannotCheck(
                    f"{path}: this part has no consistency proof from {head.size} entries"
                )
            is_same = self.roots.setdefault(head.size, head.root) == head.root
            require(
                is_same, f"{path}: the first {head.size} entries differ from those that were signed"
            )
            self.confirmed_to = max(self.confirmed_to, head.size)

    def check_consistency(self, old: int) -> None:
        """Check the proof that the trail was only extended since its first `old` entries."""
        proof = (self.folder / "proofs" / f"{old}.consistency").read_text("utf-8")
        first, *path = proof.partition("\n\n")[0].split("\n")
        found = roots_from_consistency(old, self.size, decode_hashes(path), self.roots[old])
        fits = first == f"old {old}" and found == (self.roots[old], self.last.root)
        require(fits, f"the trail is not an extension of the checkpoint of {old} entries")

    def check_entries(self, requested: Set[str]) -> None:
        """Check that entries and details are those that were signed, and their counts."""
        self.missing_details, self.known_entries = set(), []
        self.count = self.first = self.detail_count = self.redacted_count = seq = 0
        with (self.folder / "details.ndjson").open(encoding="utf-8", newline="\n") as lines:
            self.details = map(parse_detail, lines)
            self.detail = next(self.details, None)
            for seq, line, hash_ in (
                self.whole_entries() if self.manifest["whole"] else self.part_entries()
            ):
                self.count, self.first = self.count + 1, self.first or seq
                if hash_ in self.hashes:
                    self.confirm_entry(seq, hash_)
                if b'"detail_commit":"",' not in line or REDACTED in line:
                    self.check_detail(seq, line)
                e = json.loads(line) if requested else {}
                if e and requested & {e.get("doc_id"), e.get("correlation_id")}:
                    print(seq, e["recorded_at"], e["event"], e["to"], e["code"], e["actor"], hash_)
        require(not self.missing_details, f"details are missing: {sorted(self.missing_details)}")
        require(not self.detail, f"a detail is out of place: {self.detail}")
        names = ("entries", "first_seq", "last_seq", "details", "details_taken_out")
        stated = [self.manifest[name] for name in names]
        found = [self.count, self.first, seq, self.detail_count, self.redacted_count]
        require(stated == found, f"{names} are {found}, but {MANIFEST} states {stated}")
        unknown = f"no entry has the hash that you gave: {sorted(self.hashes)}"
        if self.hashes and not self.manifest["whole"]:
            raise CannotCheck(f"{unknown}; a part need not contain that entry")
        require(not self.hashes, unknown)

    def confirm_entry(self, seq: int, hash_: str) -> None:
        """Note that --known has the hash of this entry.

        In a whole trail, this confirms all entries before it too, because the chain links them.
        """
        self.hashes.discard(hash_)
        if self.manifest["whole"]:
            self.confirmed_to = max(self.confirmed_to, seq)
        else:
            self.known_entries.append(seq)

    def check_detail(self, seq: int, line: bytes) -> None:
        """Check the detail of an entry against its commitment, or note that it is missing.

        Each missing detail needs a later entry that redacted it.
        """
        commit = line.partition(b'"detail_commit":"')[2][:64].decode()
        if self.detail and self.detail[0] == seq:
            if sha256(self.detail[1]).hexdigest() != commit:
                raise ValueError(f"entry {seq}: the detail was changed")
            self.detail_count, self.detail = self.detail_count + 1, next(self.details, None)
        elif commit[:1] != '"':
            self.missing_details.add(f"entry:{seq}")
            self.redacted_count += 1
        if REDACTED in line:
            self.missing_details.discard(json.loads(line)["subject"])

    def whole_entries(self) -> Iterator[Tuple[int, bytes, str]]:
        """Yield number, line and hash of each entry of a whole trail.

        Each entry is checked against the hash before it, all of them against the checkpoints.
        """
        seq, head, nodes = 0, "0" * 64, []
        with (self.folder / "entries.ndjson").open("rb") as lines:
            for raw in lines:
                line, size, seq = raw[:-1], seq, seq + 1
                position = line.rfind(b'","seq":%d,"' % seq)  # from the end, where the field is
                if position < 0 or f'"prev":"{head}","'.encode() not in line:
                    raise ValueError(f"entry {seq} does not follow the one before it")
                head, top = sha256(line).hexdigest(), sha256(b"\x00" + line).digest()
                while size & 1:
                    top, size = hash_node(nodes.pop(), top), size >> 1
                nodes.append(top)
                if seq in self.roots:
                    root = reduce(lambda right, left: hash_node(left, right), reversed(nodes))
                    require(
                        root == self.roots[seq],
                        f"the first {seq} entries differ from those of a checkpoint",
                    )
                yield seq, line, head
        require(
            (seq, head) == (self.size, self.manifest["head"]),
            f"the trail ends after {seq} entries, not as signed after {self.size}",
        )

    def part_entries(self) -> Iterator[Tuple[int, bytes, str]]:
        """Yield number, line and hash of each entry of a part, checked by its proof.

        The format of the proofs is c2sp.org/tlog-proof.
        """
        seq, note = 0, (self.folder / "checkpoints" / str(self.size)).read_text("utf-8")
        proofs = (self.folder / "proofs" / "inclusion.tlog-proofs").open(encoding="utf-8")
        with (self.folder / "entries.ndjson").open("rb") as lines, proofs:
            for raw in lines:
                require(raw.endswith(b"\n"), f"the line after entry {seq} is incomplete")
                before, line = seq, raw[:-1]
                seq = json.loads(line)["seq"]
                proof = [text[:-1] for text in takewhile(str.strip, proofs)]
                path, leaf = decode_hashes(proof[2:]), sha256(b"\x00" + line).digest()
                fits = proof[:2] == ["c2sp.org/tlog-proof@v1", f"index {seq - 1}"] and before < seq
                fits = (
                    fits and root_from_inclusion(leaf, seq - 1, self.size, path) == self.last.root
                )
                fits = fits and proofs.read(len(note)) == note
                require(fits, f"entry {seq} is not proved by the checkpoint of {self.size} entries")
                yield seq, line, sha256(line).hexdigest()
            require(not proofs.read(1), "the entry of a proof is missing")

    def describe_scope(self) -> str:
        """Return which entries were checked, and whether they are the whole trail."""
        if self.manifest["whole"]:
            return f"COMPLETE: entries 1 to {self.size}"
        part = f"PART: {self.count} of {self.size} entries; completeness not shown"
        return f"{part}; filters: {json.dumps(self.manifest['filters'], sort_keys=True)}"

    def describe_confirmation(self) -> str:
        """Return who signed the trail, and which entries --known confirms."""
        keys = ", ".join(sorted(self.last.signers)) or "no known key"
        source = "from the package" if self.has_package_keys else "that you gave"
        text = f"Signed by {keys} ({source}).\n"
        for seq in self.known_entries:
            text += f"--known confirms entry {seq}, and no other entry of this part.\n"
        if self.has_package_keys and not self.is_known:
            return text + NO_KEY
        if not self.is_confirmed():
            return text + UNCONFIRMED
        text += f"Confirmed by --known: entries up to {self.confirmed_to}."
        rest = f" Entries {self.confirmed_to + 1} to {self.size} are not confirmed from outside."
        return text + (rest if self.confirmed_to < self.size else "")

    def is_confirmed(self) -> bool:
        """Return whether a key and something known from another source confirm the first entry."""
        return (self.is_known or not self.has_package_keys) and 0 < self.first <= self.confirmed_to


def main() -> int:
    """Verify the package that the command line names, and return the exit code."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", action="store_true")
    for names in (["--vkey"], ["--known"], ["--doc", "--correlation"]):
        parser.add_argument(*names, action="append", default=[])
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a real stream
    try:
        trail = Trail(options.folder, options.vkey, set(options.known))
    except (CannotCheck, *FAULTS) as error:
        print(f"CANNOT BE CHECKED: {error}.")
        return 2
    try:
        trail.check(set(options.doc))
    except (CannotCheck, PermissionError) as error:
        print(f"CANNOT BE CHECKED: {error}.")
        return 2
    except FAULTS as error:
        print(f"BROKEN: {error}.")
        return 1
    print(f"{trail.describe_scope()}.\n{trail.describe_confirmation()}")
    if not trail.is_covered:
        print(f"CANNOT BE CHECKED: {UNSIGNED}")
        return 2
    if not (trail.manifest["whole"] or options.part):
        print(
            "If you expect a part, give --part. For all entries, request the export of the whole."
        )
        return 4
    return 0 if trail.is_confirmed() else 3


if __name__ == "__main__":
    raise SystemExit(main())
