"""Runs one django-q2 cluster. It is the program that a worker host starts (`process_session`).

The cluster has a process session of its own. So a Ctrl-C or a SIGTERM to the process group of the
terminal is sent to the host only, which asks the cluster to drain, and the host can kill the whole
session at once.
"""

import os
import pydoc
import signal
import sys
import tempfile
from pathlib import Path

import django


def main(folder: Path, host: int, host_name: str) -> None:
    """Run the cluster, then end the process with exit code 0.

    `folder` is the temporary folder of all processes of the cluster. `host` is the process id of
    the worker host, and `host_name` its name in the table of hosts.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

    # Imported here, because django-q2 reads the settings when it is imported.
    from django_q.signals import post_spawn  # noqa: PLC0415 - see above

    from ingestion.dispatch import (  # noqa: PLC0415 - see above
        document_reader,
        wakeup_transport,
    )
    from ingestion.dispatch.processes import (  # noqa: PLC0415 - see above
        host_heartbeat,
        parent_death,
        process_session,
        worker_presence,
    )
    from ingestion.dispatch.processes.patched_cluster import Cluster  # noqa: PLC0415 - see above

    process_session.lock_folder(folder)
    tempfile.tempdir = str(folder)
    worker_presence.set_folder(folder / worker_presence.FOLDER)
    host_heartbeat.set_own_name(host_name)
    parent_death.name_process("cluster")
    parent_death.tie_forked_processes()
    post_spawn.connect(document_reader.warm_up)
    # Workers look their task up in this way. When it is imported before they are forked, their
    # first shift begins sooner, and they share the memory of its modules.
    pydoc.locate(wakeup_transport.SHIFT_TASK)
    cluster = Cluster()
    parent_death.signal_on_parent_death(host, signal.SIGTERM)  # the cluster of a killed host drains
    cluster.run()
    # sys.exit() would wait for processes that a killed sentinel left behind. The host does that.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
