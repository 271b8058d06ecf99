"""Runs one django-q2 cluster. It is the program that a worker host starts (`process_session`).

The cluster has a process session of its own. So a Ctrl-C or a SIGTERM to the process group of the
terminal is sent to the host only, which asks the cluster to drain, and the host can kill the whole
session at once.
"""

import importlib
import os
import pydoc
import signal
import sys
import tempfile
from pathlib import Path

import django
from django.conf import settings

from audit.unhandled_errors import log_unhandled_errors

# Modules that Django, httpx2 and multiprocessing import only when they are used for the first time.
FIRST_SHIFT_MODULES = (
    "anyio._backends._asyncio",
    "django.db.models.sql.compiler",
    "encodings.idna",
    "multiprocessing.popen_forkserver",
)


def main(folder: Path, host: int, host_name: str) -> None:
    """Run the cluster, then end the process with exit code 0.

    `folder` is the temporary folder of all processes of the cluster. `host` is the process id of
    the worker host, and `host_name` its name in the table of hosts.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if settings.LOG_FORMAT == "json":
        log_unhandled_errors()

    # Imported here, because django-q2 reads the settings when it is imported.
    from django_q.signals import post_spawn  # noqa: PLC0415 - see above

    from ingestion.dispatch import document_reader  # noqa: PLC0415 - see above
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
    prepare_first_shift()
    cluster = Cluster()
    parent_death.signal_on_parent_death(host, signal.SIGTERM)  # the cluster of a killed host drains
    cluster.run()
    # sys.exit() would wait for processes that a killed sentinel left behind. The host does that.
    os._exit(0)


def prepare_first_shift() -> None:
    """Import and load what the first shift of a worker needs. Call it before workers are forked.

    Their first shift then begins sooner, and they share the memory of the modules and of the
    certificate authorities.
    """
    from ingestion.dispatch import wakeup_transport  # noqa: PLC0415 - see above
    from ingestion.sources import credentials  # noqa: PLC0415 - see above

    pydoc.locate(wakeup_transport.SHIFT_TASK)  # Workers look their task up in this way.
    for module in FIRST_SHIFT_MODULES:
        importlib.import_module(module)
    credentials.get_default_tls()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
