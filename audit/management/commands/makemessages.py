"""Collects the messages for a catalogue, including the wordings about pages."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    """Adds to Django's command the functions that mark messages in `ingestion.rules`."""

    xgettext_options = [
        *makemessages.Command.xgettext_options,
        "--keyword=page_wording:1,2",
    ]
