"""The first key, and the change from one key to the next. Both are on record in the ledger.

A change goes in steps, each of which may be the last before a power cut; starting again goes on:

1. The next key waits beside the old one, in a file of its own.
2. An entry says which key follows which. A checkpoint over it is signed by both.
3. The next key is published: it signs from here on, and the old one no more.
4. That checkpoint is in every anchor: the old key's last word is out of our hands.
5. The old private key is removed.
"""

from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from audit.signing import anchors, checkpoints, keys
from audit.signing.keys import KeyProblem
from audit.signing.signed_note import Verifier


def create_key(*, by: Actor, is_lost: bool = False) -> Verifier:
    """The first key of this ledger, or one after a loss, which no older key vouches for.

    Takes a key that lies in AUDIT_KEY_FILE already. Raises KeyProblem.
    """
    with keys.exclusive_key_change():
        known = keys.published_keys()
        if known and not is_lost:
            raise KeyProblem(
                "This ledger has a key. `manage.py audit_keys show` shows it, `rotate` replaces it."
            )
        if known and keys.has_private_key():
            raise KeyProblem(
                f"{keys.private_file()} is not lost. Move it away if it cannot be used."
            )
        verifier = keys.load_or_create_key(keys.private_file()).verifier
        _enter("ledger.key_created", verifier, by=by, follows=known[-1].verifier if known else None)
        last = checkpoints.latest_checkpoint()
        keys.publish_key(verifier, last.size + 1 if last and known else 0)
    return verifier


def rotate_key(*, by: Actor) -> Verifier:
    """Replace the key in force. After a failure, start it again: it goes on. Raises KeyProblem."""
    with keys.exclusive_key_change():
        verifier = _handed_over(by)
    _anchor_last_word(keys.published_keys()[-1].first)
    keys.promote_next_key()
    return verifier


def _handed_over(by: Actor) -> Verifier:
    old, new = keys.load_current_key(), keys.load_or_create_key(keys.next_file())
    if old.verifier == new.verifier:
        return new.verifier  # an earlier start came so far
    _enter("ledger.key_rotated", new.verifier, by=by, follows=old.verifier)
    signed = checkpoints.sign_with([new, old])
    if signed is None:
        raise KeyProblem("Another host signed meanwhile with the old key. Start this again.")
    keys.publish_key(new.verifier, signed.size)
    return new.verifier


def _enter(event: str, verifier: Verifier, *, by: Actor, follows: Verifier | None) -> None:
    """Public keys are no personal data, but too long for the line; its detail is bound by it."""
    detail = {"vkey": verifier.text} | ({"follows": follows.text} if follows else {})
    with ledger():
        record(event, subject=f"key:{verifier.key_id.hex()}", by=by, detail=detail)


def _anchor_last_word(size: int) -> None:
    signed = checkpoints.checkpoint_of_size(size)
    if signed is None:
        raise KeyProblem(
            f"The checkpoint of {size} entries, in which one key follows the other, is not in this "
            "database: it was changed or replaced. Run `manage.py verify_audit --full`."
        )
    if problems := anchors.anchor_checkpoint(signed):
        raise KeyProblem(
            "The new key signs. The old one stays until its last word is anchored: "
            f"{' '.join(problems)} Start this again then."
        )
