"""Divides migrations into two stages, so that an upgrade needs no downtime (docs/upgrading.md).

Old and new code run at the same time while servers are restarted one after the other. Migrations
that only add to the schema run before that, and are named `0015_pre_...`. Migrations that remove
what old code needs run after it, and are named `0016_post_...`. Migrations with other names, such
as those of libraries, run before.
"""

from collections.abc import Iterable

from django.core.management.base import CommandError

Step = tuple[str, str]  # app, name of the migration


def is_post_migration(name: str) -> bool:
    """Return whether the name of a migration, such as `0012_post_drop`, marks the second stage."""
    return name[4:].startswith("_post_")


def find_last_before_post(plan: Iterable[Step]) -> list[Step]:
    """Return the last step of each app before its first `post` migration.

    `plan` contains the migrations that are not applied yet, in order. Raises CommandError if
    another migration follows a `post` migration of its app, because then the upgrade to the
    previous release was not finished.
    """
    last: dict[str, str] = {}
    first_post: dict[str, str] = {}
    for app, name in plan:
        if is_post_migration(name):
            first_post.setdefault(app, name)
        elif app in first_post:
            raise CommandError(
                f"{app}.{name} must run after {first_post[app]}, which the previous release left "
                "for the end of its upgrade. Finish that upgrade first, or stop all servers and "
                "workers and migrate without --stage."
            )
        else:
            last[app] = name
    return list(last.items())
