"""One chaos run, with the settings that the environment names."""

import time
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from django.core.management import call_command

from bench.chaos import offer as offers
from bench.chaos import tally
from bench.chaos.installation import Installation, make_portal, submit
from bench.chaos.schedule import DISK, draw
from bench.chaos.servers import Server
from bench.chaos.storm import Storm
from bench.chaos.table import FaultSummary, table
from bench.chaos.uploads import Sender
from bench.chaos.way import Way
from bench.process import free_port

CALM_SECONDS = 900.0  # for the remaining work after the last fault


def run(options: Namespace, folder: Path, server: Server, skipped: str) -> tuple[str, bool]:
    """Return the table of the run, and whether it succeeded. `skipped` explains a missing disk."""
    call_command("migrate", verbosity=0)
    call_command("audit_keys", "create", verbosity=0)
    with ExitStack() as stack:
        port = free_port()
        way = Way(port)
        stack.callback(way.close)
        url = f"http://127.0.0.1:{way.port}"
        offer = offers.write(folder / "offer", url, documents=options.documents, seed=options.seed)
        portal = stack.enter_context(make_portal(offer, seed=options.seed, port=port))
        began = time.monotonic()
        submit(offer)
        place = Installation(folder, way)
        stack.callback(place.stop)
        storm = Storm(place, server, Sender(place.web_port, place.tend))
        is_at_rest = _ride_out(storm, options, skipped, began)
        seconds = time.monotonic() - began
        codes, left = place.stop(), place.left()
    found = tally.count(offer, storm.sent, storm.spoilt, portal.violations.total())
    found.faults |= {
        "not settled in time": [] if is_at_rest else ["see the logs"],
        "hosts that did not drain": [f"exit code {code}" for code in codes if code],
        "processes left": [f"process {pid}" for pid in left],
        "kills that were not made": ["time was up"] * (options.kills - storm.kills.total()),
    }
    summary = FaultSummary(
        server.name, options.seed, storm.kills, storm.killed, storm.harms, skipped, seconds
    )
    return table(summary, found), found.is_good


def _ride_out(storm: Storm, options: Namespace, skipped: str, began: float) -> bool:
    """Return whether all work comes to an end."""
    harms = [harm for harm in draw(options.seed, options.kills) if not skipped or harm.kind != DISK]
    storm.rage(harms, options.documents, began + options.minutes * 60)
    return storm.settle(CALM_SECONDS)
