"""How far signing and anchoring are, for `status`, pages and alerts."""

from typing import Any

from audit import anchors, checkpoints, clock, keys
from audit.keys import KeyProblem


def standing() -> dict[str, Any]:
    """Numbers, and lists of sentences that are empty when all is well."""
    last = checkpoints.latest()
    return {
        "ledger_signed": last.size if last else 0,
        "ledger_unsigned": checkpoints.unsigned(),
        "ledger_problems": _problems(),
        "unanchored": [str(waiting) for waiting in anchors.unanchored()],
        "clocks_apart": [str(skew) for skew in clock.apart()],
    }


def _problems() -> list[str]:
    found = []
    try:
        if not keys.known():
            found.append("there is no key: nothing is signed")
    except KeyProblem as error:
        found.append(str(error))
    if fault := checkpoints.fault():
        found.append(f"broken at {fault}")
    return found
