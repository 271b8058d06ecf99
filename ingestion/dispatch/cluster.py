"""One django-q2 cluster in a process session of its own: `python -m ingestion.dispatch.cluster`.

Its own session, so that a Ctrl-C or a SIGTERM to the terminal's group reaches only the host
process, which asks this one to drain; and so that the whole of it can be killed at once.
"""

import logging
import os
from types import FrameType

import django

logger = logging.getLogger(__name__)


def main() -> None:
    """Returns when the cluster has stopped."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

    # django-q2 reads the settings when it is imported.
    from django_q.cluster import Cluster  # noqa: PLC0415

    from ingestion.dispatch import drain  # noqa: PLC0415

    class DrainingCluster(Cluster):  # type: ignore[misc]
        def sig_handler(self, signum: int, frame: FrameType | None) -> None:
            # django-q2 tells its workers nothing; the flag does, before it waits for them.
            drain.start()
            super().sig_handler(signum, frame)

    cluster = DrainingCluster()
    cluster.start()
    if cluster.sentinel:
        cluster.sentinel.join()


if __name__ == "__main__":
    main()
