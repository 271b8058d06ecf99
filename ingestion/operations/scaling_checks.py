"""Checks the settings of scaling: the numbers of hosts, the times, the command and the webhook."""

import shlex
import shutil
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register


@register
def check_scaling(**options: Any) -> list[CheckMessage]:
    """Return the problems of the settings of scaling."""
    return [*_check_numbers(), *_check_hooks()]


def _check_numbers() -> Iterator[CheckMessage]:
    if settings.SHIFT_MAX_CHUNKS < 0:
        yield Error(
            "SHIFT_MAX_CHUNKS must not be negative.",
            hint="Set it to 16, or to 0 for no limit.",
            id="ingestion.E092",
        )
    if settings.SCALE_MIN_HOSTS < 1:
        yield Error(
            "SCALE_MIN_HOSTS has to be at least 1: without a host, nobody asks for another one.",
            id="ingestion.E093",
        )
    if settings.SCALE_MAX_HOSTS and settings.SCALE_MAX_HOSTS < settings.SCALE_MIN_HOSTS:
        yield Error(
            "SCALE_MAX_HOSTS is less than SCALE_MIN_HOSTS.",
            hint="Set it to the largest number of hosts that you want, or to 0 to ask for none.",
            id="ingestion.E093",
        )
    times = ("SCALE_OUT_SECONDS", "SCALE_COOLDOWN_SECONDS", "SCALE_IN_SECONDS")
    for name in (*times, "BACKLOG_ALARM_SECONDS"):
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1 second.", id="ingestion.E094")
    if settings.SCALE_IN_SECONDS < 2 * settings.SCALE_OUT_SECONDS:
        yield checks.Warning(
            "Hosts would end almost as soon as others start, and start again soon afterwards.",
            hint="SCALE_IN_SECONDS has to be at least twice SCALE_OUT_SECONDS.",
            id="ingestion.W094",
        )


def _check_hooks() -> Iterator[CheckMessage]:
    if (settings.SCALE_COMMAND or settings.SCALE_WEBHOOK) and not settings.SCALE_MAX_HOSTS:
        yield Error(
            "SCALE_COMMAND and SCALE_WEBHOOK are never called, because SCALE_MAX_HOSTS is 0.",
            hint="Set SCALE_MAX_HOSTS to the largest number of hosts that you want.",
            id="ingestion.E095",
        )
    if settings.SCALE_WEBHOOK and not settings.SCALE_WEBHOOK.startswith(("https://", "http://")):
        yield Error(
            "SCALE_WEBHOOK is not a URL.",
            hint="Write https://hooks.example.org/..., or leave it out.",
            id="ingestion.E096",
        )
    if not settings.SCALE_COMMAND:
        return
    try:
        program = shlex.split(settings.SCALE_COMMAND)[0]
    except (ValueError, IndexError):
        yield Error(
            f"SCALE_COMMAND={settings.SCALE_COMMAND} is not a command.",
            hint="Write a program and its arguments, with quotation marks in pairs.",
            id="ingestion.E097",
        )
        return
    if not shutil.which(program):
        yield checks.Warning(
            f"The program of SCALE_COMMAND was not found here: {program}.",
            hint="Give the path of a program that each worker host has. No shell is used.",
            id="ingestion.W097",
        )
