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


def main() -> None:
    """Serve the corpus that the command line names until the program is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m samples.portal", description=__doc__)
    parser.add_argument("directory", type=Path, help="the folder that `python -m samples` wrote")
    parser.add_argument("--port", type=int, default=0, help="0 selects a free port")
    parser.add_argument(
        "--faults", type=float, default=0.08, help="share of documents with an injected fault"
    )
    parser.add_argument("--seed", type=int, default=2026)
    arguments = parser.parse_args()
    is_stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_stopped.set())
    limits = read_limits(arguments.directory / "sites.json")
    portal = SamplePortal(
        arguments.directory,
        limits,
        faults=arguments.faults,
        seed=arguments.seed,
        port=arguments.port,
    )
    with portal:
        sys.stdout.write(f"{portal.base_url}\n")
        sys.stdout.flush()
        is_stopped.wait()
    statuses = Counter(str(int(request.status)) for request in portal.requests)
    sys.stdout.write(f"{json.dumps(statuses)}\n")


if __name__ == "__main__":
    main()
