"""Reads the files of `deploy/`: units, compose.yaml and the example of an environment."""

import shlex

import yaml
from django.conf import settings

DEPLOY = settings.BASE_DIR / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def lines_of(unit, name):
    """Return the values of all lines `name=` of a unit."""
    text = (DEPLOY / "systemd" / unit).read_text()
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


def replace_paths(text, folder, instance=""):
    """Return a unit's text for a deployment below `folder`, which runs this checkout."""
    paths = {
        "/srv/siteledger/current": str(settings.BASE_DIR),
        "/var/lib/siteledger": f"{folder}/lib",
        "/etc/siteledger": f"{folder}/etc",
        "%i": instance,
    }
    for path, replacement in paths.items():
        text = text.replace(path, replacement)
    return text


def command_of(unit, folder, instance=""):
    return shlex.split(replace_paths(lines_of(unit, "ExecStart")[0], folder, instance))


def environment_of(unit, folder):
    """Return the environment as systemd builds it: the lines of the unit, then the file."""
    lines = [word for line in lines_of(unit, "Environment") for word in shlex.split(line)]
    lines += read_lines(DEPLOY / "siteledger.env")
    return dict(replace_paths(line, folder).split("=", 1) for line in lines)


def read_lines(path):
    """Return the lines of a file without comments and empty lines."""
    lines = path.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def read_compose_file():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())
