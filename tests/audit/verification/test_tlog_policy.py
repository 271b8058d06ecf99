"""Tests that policies in the format of c2sp.org/tlog-policy are read exactly or refused by line.

The lines with `place` are an extension of this project.
"""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.signing import signed_note
from audit.verification import tlog_policy
from audit.verification.tlog_policy import PolicyError


def log(name="ledger.example.org/abc"):
    return signed_note.Signer(name, Ed25519PrivateKey.generate()).verifier


def witness(name="w.example.org", kind=b"\x04", length=32, fill=b"w"):
    raw = kind + fill * length
    key_id = hashlib.sha256(name.encode() + b"\n" + raw).hexdigest()[:8]
    return f"{name}+{key_id}+{base64.b64encode(raw).decode()}"


LOG = log()


def parse(*lines):
    return tlog_policy.parse_policy("\n".join(lines).encode())


def test_a_policy_has_keys_places_and_the_quorum_none():
    policy = parse(
        "# the trail of ABC-1",
        "",
        f"\tlog  {LOG.text}\thttps://ledger.example.org/ ",
        f"log {log('ledger.example.org/abc-2').text}",
        "place s3://worm/ledgers/",
        "place rfc3161",
        "quorum none",
        "",
    )
    assert policy.logs[0] == LOG
    assert len(policy.logs) == 2
    assert policy.places == ("s3://worm/ledgers", "rfc3161")


def test_witnesses_and_groups_are_accepted_with_the_quorum_none():
    policy = parse(
        f"log {LOG.text}",
        f"witness X1 {witness('x1', fill=b'1')}",
        f"witness X2 {witness('x2', fill=b'2')} https://x2.example.org/",
        f"witness Y {witness('y', kind=bytes([6]), length=1312)}",
        "group X 2 X1 X2",
        "group all-of-them all X Y",
        "quorum none",
    )
    assert policy.logs == (LOG,)


@pytest.mark.parametrize("name", ["X1", "X"])
def test_a_quorum_of_witnesses_is_refused_as_not_supported(name):
    lines = [f"log {LOG.text}", f"witness X1 {witness()}", "group X any X1", f"quorum {name}"]
    with pytest.raises(PolicyError, match="Line 4: this quorum asks for cosignatures of witnesses"):
        parse(*lines)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("logs", "'logs' is not a line of a policy"),
        ("witnesses 3", "'witnesses' is not a line of a policy"),
        ("Quorum none", "'Quorum' is not a line of a policy"),
        ("log", "write `log VKEY`"),
        ("log a b c", "write `log VKEY`"),
        ("log nonsense", "not a key of the form"),
        (f"log {witness()}", "is not an Ed25519 key"),
        (f"log {LOG.text.replace('+', '+0', 1)}", "another id"),
        (f"log {LOG.text}", "listed twice"),
        ("witness W", "write `witness NAME VKEY`"),
        ("witness W nonsense", "not a key of the form"),
        (f"witness W {LOG.text}", "the key of a log"),
        (f"witness W {witness(length=31)}", "not a key for cosignatures"),
        (f"witness W {witness().replace('w.', 'v.')}", "another id"),
        (f"witness W {witness('other', fill=b'1')}", "listed twice"),
        (f"witness X1 {witness('new', fill=b'9')}", "is taken"),
        (f"witness none {witness('new', fill=b'9')}", "is taken"),
        ("group G any", "write `group NAME"),
        ("group G any Z", "'Z' is not defined on a line before"),
        ("group G any none", "'none' is not defined on a line before"),
        ("group G 2 X1", "a number from 1 to 1"),
        ("group G 0 X1", "a number from 1 to 1"),
        ("group G 99999999999999999999 X1", "a number from 1 to 1"),
        ("group G some X1", "a number from 1 to 1"),
        ("group X1 any X2", "is taken"),
        ("group G any X2 X2", "is a member already"),
        ("quorum", "write `quorum NAME`"),
        ("quorum Z", "the second"),
        ("quorum none", "the second"),
        ("place", "write `place NAME`"),
        ("place my bucket", "write `place NAME`"),
        ("place s3://b/", "listed twice"),
        ("place \x07", "control character"),
        ("# \r", "control character"),
    ],
)
def test_the_error_about_an_invalid_line_has_its_number_and_the_reason(line, message):
    before = [
        f"log {LOG.text}",
        f"witness X1 {witness('x1', fill=b'1')}",
        f"witness X2 {witness('x2', fill=b'2')}",
        "place s3://b",
        "quorum none",
    ]
    with pytest.raises(PolicyError, match=message) as caught:
        parse(*before, line)
    assert str(caught.value).startswith("Line 6: ")


def test_names_are_compared_as_bytes():
    kelvin = "\N{KELVIN SIGN}"
    lines = [f"log {LOG.text}", f"witness {kelvin} {witness(kelvin)}", "group G any K"]
    with pytest.raises(PolicyError, match="Line 3: 'K' is not defined"):
        parse(*lines)
    content = b"log " + LOG.text.encode() + b"\nplace \xff\nquorum none\n"
    with pytest.raises(PolicyError, match=r"Line 2: .* is not UTF-8"):
        tlog_policy.parse_policy(content)


def test_missing_lines_are_reported():
    with pytest.raises(PolicyError, match="no quorum line"):
        parse(f"log {LOG.text}")
    with pytest.raises(PolicyError, match="no log line, so it pins no key"):
        parse("quorum none")
    with pytest.raises(PolicyError, match="no quorum line"):
        parse("")


def test_32_logs_witnesses_and_groups_are_accepted():
    lines = [f"log {log(f'log{n}').text}" for n in range(32)]
    lines += [f"witness w{n} {witness(f'w{n}', fill=bytes([n]))}" for n in range(32)]
    lines += [f"group g{n} any w{n}" for n in range(32)]
    assert len(parse(*lines, "quorum none").logs) == 32
