"""Serve a sample corpus until it is stopped: `python -m samples.portal DIR --port N`.

The first line of output is the address of the portal. SIGINT and SIGTERM stop it with exit code 0.
The last line of output is a JSON object with the number of responses for each status.
"""

import argparse
import json
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

from samples.portal import SamplePortal, read_limits


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m samples.portal", description=__doc__)
    parser.add_argument("directory", type=Path, help="what `python -m samples` wrote")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument(
        "--faults", type=float, default=0.08, help="share of documents with an injected fault"
    )
    parser.add_argument("--seed", type=int, default=2026)
    return parser.parse_args()


def main() -> None:
    asked = _arguments()
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    limits = read_limits(asked.directory / "sites.json")
    portal = SamplePortal(
        asked.directory, limits, faults=asked.faults, seed=asked.seed, port=asked.port
    )
    with portal:
        sys.stdout.write(f"{portal.base_url}\n")
        sys.stdout.flush()
        done.wait()
    answers = Counter(str(int(request.status)) for request in portal.requests)
    sys.stdout.write(f"{json.dumps(answers)}\n")


if __name__ == "__main__":
    main()
