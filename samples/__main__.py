"""Write a sample corpus: `python -m samples DIR --base-url URL`."""

import argparse
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from samples.corpus import write_corpus


def main() -> None:
    """Write the sample corpus that the command line describes."""
    parser = argparse.ArgumentParser(prog="python -m samples", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--base-url",
        required=True,
        help="the address at which the sample portal will serve the files",
    )
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--sites", type=int, default=12, help="1 to 12")
    parser.add_argument(
        "--today",
        type=date.fromisoformat,
        default=datetime.now(UTC).date(),
        help="the day on which all documents without a fault are valid",
    )
    arguments = parser.parse_args()
    corpus = write_corpus(
        arguments.directory,
        base_url=arguments.base_url.rstrip("/"),
        today=arguments.today,
        seed=arguments.seed,
        sites=arguments.sites,
    )
    sys.stdout.write(
        f"{corpus.documents} documents, {corpus.scanned_pages} scanned pages: {corpus.directory}\n"
    )


if __name__ == "__main__":
    main()
