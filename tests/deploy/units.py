"""What the files of `deploy/` say: units, compose.yaml and the example of an environment."""

import shlex

import yaml
from django.conf import settings

DEPLOY = settings.BASE_DIR / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def lines_of(unit, name):
    """What stands behind `name=` in a unit, each time that it is there."""
    text = (DEPLOY / "systemd" / unit).read_text()
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


def placed(text, folder, instance=""):
    """A unit's text for a deployment below `folder`, which runs this checkout."""
    places = {
        "/srv/siteledger/current": str(settings.BASE_DIR),
        "/var/lib/siteledger": f"{folder}/lib",
        "/etc/siteledger": f"{folder}/etc",
        "%i": instance,
    }
    for place, here in places.items():
        text = text.replace(place, here)
    return text


def command_of(unit, folder, instance=""):
    return shlex.split(placed(lines_of(unit, "ExecStart")[0], folder, instance))


def environment_of(unit, folder):
    """As systemd puts it together: what stands in the unit, then the file."""
    said = [word for line in lines_of(unit, "Environment") for word in shlex.split(line)]
    said += from_file(DEPLOY / "siteledger.env")
    return dict(placed(word, folder).split("=", 1) for word in said)


def from_file(path):
    lines = path.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())
