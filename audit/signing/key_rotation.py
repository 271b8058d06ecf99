"""Creates the first key and replaces a key by the next one. Both are recorded in the ledger.

A rotation has five steps. After an interruption, the same command continues it:

1. The next key is stored in a file beside the old one.
2. An entry states which key follows which. Both keys sign a checkpoint that covers it.
3. The next key is published. From here on, it signs and the old key does not.
4. That checkpoint is brought to every anchor, where this installation cannot change it.
5. The old private key is removed.
"""

from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from audit.signing import anchors, checkpoints, keys
from audit.signing.keys import KeyProblem
from audit.signing.signed_note import Verifier


def create_key(*, by: Actor, is_lost: bool = False) -> Verifier:
    """Create the first key of this ledger, or, with `is_lost`, a key after the loss of the last.

    No older key signs for a key after a loss. A key that is in AUDIT_KEY_FILE is used. Raises
    KeyProblem.
    """
    with keys.lock_key_change():
        known = keys.read_published_keys()
        if known and not is_lost:
            raise KeyProblem(
                "This ledger has a key. `manage.py audit_keys show` shows it, `rotate` replaces it."
            )
        if known and keys.has_private_key():
            raise KeyProblem(
                f"{keys.get_private_file()} is not lost. Move it away if it cannot be used."
            )
        verifier = keys.load_or_create_key(keys.get_private_file()).verifier
        follows = known[-1].verifier if known else None
        _record("ledger.key_created", verifier, by=by, follows=follows)
        last = checkpoints.get_latest_checkpoint()
        keys.publish_key(verifier, last.size + 1 if last and known else 0)
    return verifier


def rotate_key(*, by: Actor) -> Verifier:
    """Replace the key in force. After a failure, call it again to continue. Raises KeyProblem."""
    with keys.lock_key_change():
        old, new = keys.load_current_key(), keys.load_or_create_key(keys.get_next_file())
        # They are the same if an interrupted rotation has published the next key.
        if old.verifier != new.verifier:
            _record("ledger.key_rotated", new.verifier, by=by, follows=old.verifier)
            signed = checkpoints.sign_with([new, old])
            if signed is None:
                raise KeyProblem(
                    "Another host signed meanwhile with the old key. Start this again."
                )
            keys.publish_key(new.verifier, signed.size)
    _anchor_handover(keys.read_published_keys()[-1].first)
    keys.promote_next_key()
    return new.verifier


def _record(event: str, verifier: Verifier, *, by: Actor, follows: Verifier | None) -> None:
    """Record a key in the detail of an entry, because the line has no room for keys."""
    detail = {"vkey": verifier.text} | ({"follows": follows.text} if follows else {})
    with ledger():
        record(event, subject=f"key:{verifier.key_id.hex()}", by=by, detail=detail)


def _anchor_handover(size: int) -> None:
    """Bring the checkpoint that both keys signed to every anchor. Raises KeyProblem."""
    signed = checkpoints.find_checkpoint_of_size(size)
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
