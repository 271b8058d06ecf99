"""Migrations in two stages, so that an upgrade stops nobody (docs/upgrading.md).

Old and new code run beside each other while servers are restarted one after the other. What only
adds to the schema goes before that, and is named `0015_pre_...`; what takes away what old code
needs goes after it, and is named `0016_post_...`. Those of libraries, named otherwise, go before.
"""

from collections.abc import Iterable

from django.core.management.base import CommandError

Step = tuple[str, str]  # app, name of the migration


def is_post_migration(name: str) -> bool:
    return name[4:].startswith("_post_")


def last_before_post(plan: Iterable[Step]) -> list[Step]:
    """The last step of each app before its first that is `post`, of what `plan` still has to do.

    Raises CommandError where one that is not `post` waits behind one that is: the release before
    was not brought to its end.
    """
    last: dict[str, str] = {}
    waits: dict[str, str] = {}
    for app, name in plan:
        if is_post_migration(name):
            waits.setdefault(app, name)
        elif app in waits:
            raise CommandError(
                f"{app}.{name} waits behind {waits[app]}, which the release before left for its "
                "end. Finish that upgrade first, or stop everything and migrate without --stage."
            )
        else:
            last[app] = name
    return list(last.items())
