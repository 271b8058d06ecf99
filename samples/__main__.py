"""Write a sample corpus: `python -m samples DIR --base-url URL`."""

import argparse
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from samples.corpus import write_corpus


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m samples", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--base-url", required=True, help="where the sample portal will listen")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--sites", type=int, default=12, help="1 to 12")
    parser.add_argument(
        "--today",
        type=date.fromisoformat,
        default=datetime.now(UTC).date(),
        help="the day on which all documents without a fault are valid",
    )
    return parser.parse_args()


def main() -> None:
    asked = _arguments()
    corpus = write_corpus(
        asked.directory,
        base_url=asked.base_url.rstrip("/"),
        today=asked.today,
        seed=asked.seed,
        sites=asked.sites,
    )
    sys.stdout.write(
        f"{corpus.documents} documents, {corpus.scanned_pages} scanned pages: {corpus.directory}\n"
    )


if __name__ == "__main__":
    main()
