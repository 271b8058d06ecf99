"""One django-q2 cluster in a process session of its own: `python -m ingestion.dispatch.cluster`.

Its own session, so that a Ctrl-C or a SIGTERM to the terminal's group reaches only the host
process, which asks this one to drain; and so that the whole of it can be killed at once.
"""

import os
import threading
import time
from types import FrameType

import django


def main() -> None:
    """Ends the process when the cluster has stopped."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

    # django-q2 reads the settings when it is imported.
    from django_q.cluster import Cluster  # noqa: PLC0415

    from ingestion.dispatch import drain  # noqa: PLC0415

    class DrainingCluster(Cluster):  # type: ignore[misc]
        told = False

        def sig_handler(self, signum: int, frame: FrameType | None) -> None:
            # django-q2 tells its workers nothing; the flag does. Stopping is left to the loop
            # below: it takes locks, and one that a killed sentinel held is never given back.
            drain.start()
            self.told = True

    cluster = DrainingCluster()
    cluster.start()
    while cluster.sentinel.is_alive():
        if cluster.told:
            cluster.told = False
            threading.Thread(target=cluster.stop, daemon=True).start()
        time.sleep(0.1)
    # Not sys.exit(): it would wait for what a killed sentinel left behind. The host does that.
    os._exit(0)


if __name__ == "__main__":
    main()
