"""Read a part of the trail as verification does, as soon as a line is received on standard input.

`python -m bench.sides.part AFTER UPTO` begins after entry AFTER, which is 0 or the size of a
checkpoint, on the database that the environment names, and prints a line when entry UPTO was
verified.
"""

import sys

import django


def main() -> None:
    """Check the part of the trail that the command line names."""
    after, upto = map(int, sys.argv[1:])
    django.setup()
    from audit.verification import checkpoint_verification
    from audit.verification.scan import Scan, ScanStart

    trusted = checkpoint_verification.find_trusted_start(after) if after else None
    start = ScanStart(*trusted) if trusted else ScanStart()
    claims = checkpoint_verification.iter_claims(after, upto, [])
    scan = Scan(start, claims, end=upto, progress=lambda _done, _total: None)
    checkpoint_verification.find_largest_checkpoint()  # opens the connection before the measurement
    print("ready", flush=True)
    sys.stdin.readline()
    problems = list(scan.problems())
    print("read", flush=True)  # how long the process takes to end is not measured
    if start.seq != after or scan.valid_to[0] != upto or problems:
        raise SystemExit(f"entries {after} to {upto} do not hold: {problems}")


if __name__ == "__main__":
    main()
