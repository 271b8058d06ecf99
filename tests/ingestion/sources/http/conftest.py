"""Provides a portal and a client for it. All names of portals resolve to this machine."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from ingestion.core.limits import Limits
from ingestion.core.ports import PortalTerms, WorkItem
from ingestion.sources.document_source import LeaseFolders
from ingestion.sources.http.client import HttpPortals
from sites.portal_origin import parse_origin
from tests.ingestion.sources.http.authority import Authority
from tests.ingestion.sources.http.servers import serve

LIMITS = Limits(
    max_bytes=1_000_000,
    connect_seconds=5,
    read_seconds=10,
    fetch_seconds=20,
    bytes_per_second=1_000,
    pace_seconds=20,
)


async def resolve_to_loopback(host, port):
    return ["127.0.0.1"]


def make_item(url, *, document=1, expected_sha256="", filed=None, **terms):
    values = {
        "key": "site-1001",
        "base_url": url,
        "rate_per_second": 10,
        "burst": 1,
        "max_in_flight": 2,
        "timeout_seconds": 20.0,
        "allow_http": True,
        "allow_private_hosts": True,
    }
    return WorkItem(
        document=document,
        chunk=1,
        site_id="1001",
        doc_id="cv",
        url=url,
        terms=approved(PortalTerms(**values | terms)),
        expected_sha256=expected_sha256,
        filed=filed,
    )


def approved(terms):
    """Return the terms as they are when a second person has approved the base address."""
    if terms.approved_origin:
        return terms
    return dataclasses.replace(terms, approved_origin=parse_origin(terms.base_url))


@pytest.fixture
def portal():
    with serve() as server:
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def portals(tmp_path):
    """Return a context manager that opens a client. Other arguments are limits."""

    @asynccontextmanager
    async def portals(
        *, folder=tmp_path, resolve=resolve_to_loopback, wait_for_slot=None, **limits
    ):
        folders = LeaseFolders()
        folders.set(1, folder)
        extra = {"wait_for_slot": wait_for_slot} if wait_for_slot else {}
        with ThreadPoolExecutor(2, thread_name_prefix="files") as files:
            own_limits = dataclasses.replace(LIMITS, **limits)
            async with HttpPortals(folders, own_limits, files, resolve=resolve, **extra) as opened:
                yield opened

    return portals


@pytest.fixture
def fetch(portals):
    """Return a function that fetches once. `with_` holds options of the client."""

    async def fetch(url, *, with_=(), **item):
        async with portals(**dict(with_)) as opened:
            return await opened.fetch(make_item(url, **item))

    return fetch
