"""Runs one django-q2 cluster in a process session of its own.

`python -m ingestion.dispatch.processes.cluster` starts it. A Ctrl-C or a SIGTERM to the terminal's
group reaches only the host process, which asks this one to drain. The host can kill the whole
session at once.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path

import django


def main(folder: Path, host: int) -> None:
    """Ends the process when the cluster has stopped. `folder` takes what its children drop."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

    # django-q2 reads the settings when it is imported.
    from django_q.signals import post_spawn  # noqa: PLC0415 - as said above

    from ingestion.dispatch import document_reader  # noqa: PLC0415 - the same
    from ingestion.dispatch.processes import (  # noqa: PLC0415 - the same
        parent_death,
        process_session,
        worker_presence,
    )
    from ingestion.dispatch.processes.patched_cluster import Cluster  # noqa: PLC0415 - the same

    process_session.hold(folder)
    tempfile.tempdir = str(folder)
    worker_presence.keep_in(folder / worker_presence.FOLDER)
    parent_death.name("cluster")
    parent_death.tie_forks()
    post_spawn.connect(document_reader.warm_up)
    cluster = Cluster()
    parent_death.end_with(host, signal.SIGTERM)  # a host that was killed has its cluster drain
    cluster.run()
    # Not sys.exit(): it would wait for what a killed sentinel left behind. The host does that.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
