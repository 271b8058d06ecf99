"""Executes one chaos run, with the settings that the environment names."""

import time
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from django.core.management import call_command

from bench.chaos import expected_documents, tally
from bench.chaos.injection import FaultInjector
from bench.chaos.installation import Installation, make_portal, submit
from bench.chaos.portal_proxy import PortalProxy
from bench.chaos.schedule import DISK, draw
from bench.chaos.servers import Server
from bench.chaos.table import FaultSummary, table
from bench.chaos.uploads import Sender
from bench.installation.process import free_port

SETTLE_SECONDS = 900.0  # for the remaining work after the last fault


def run(options: Namespace, folder: Path, server: Server, skipped: str) -> tuple[str, bool]:
    """Return the table of the run, and whether it succeeded. `skipped` explains a missing disk."""
    call_command("migrate", verbosity=0)
    call_command("audit_keys", "create", verbosity=0)
    with ExitStack() as stack:
        port = free_port()
        proxy = PortalProxy(port)
        stack.callback(proxy.close)
        url = f"http://127.0.0.1:{proxy.port}"
        offer = expected_documents.write(
            folder / "offer", url, documents=options.documents, seed=options.seed
        )
        portal = stack.enter_context(make_portal(offer, seed=options.seed, port=port))
        began = time.monotonic()
        submit(offer)
        installation = Installation(folder, proxy)
        stack.callback(installation.stop)
        sender = Sender(installation.web_port, installation.restart_ended)
        injector = FaultInjector(installation, server, sender)
        drawn = draw(options.seed, options.kills)
        faults = [fault for fault in drawn if not skipped or fault.kind != DISK]
        injector.inject_all(faults, options.documents, began + options.minutes * 60)
        is_settled = injector.settle(SETTLE_SECONDS)
        seconds = time.monotonic() - began
        exit_codes, remaining = installation.stop(), installation.remaining_processes()
    counts = tally.count(offer, injector.sent, injector.damaged, portal.violations.total())
    counts.faults |= {
        "not settled in time": [] if is_settled else ["see the logs"],
        "hosts that did not drain": [f"exit code {code}" for code in exit_codes if code],
        "processes left": [f"process {pid}" for pid in remaining],
        "kills that were not made": ["time was up"] * (options.kills - injector.kills.total()),
    }
    summary = FaultSummary(
        server.name,
        options.seed,
        injector.kills,
        injector.killed,
        injector.other_faults,
        skipped,
        seconds,
    )
    return table(summary, counts), counts.is_good
