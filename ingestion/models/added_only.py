"""Defines the base of rows that are added and never changed or deleted."""

from typing import Any, NoReturn

from django.db import models


class RowUnchangeable(Exception):
    """Rows of this table are never changed or deleted."""


class AddedOnlyRow(models.Model):
    """The base of rows that are only added. Raises RowUnchangeable if one is changed or deleted."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Insert the row. Raises RowUnchangeable if it exists already."""
        if not self._state.adding:
            self._refuse()
        super().save(*args, **options)

    def delete(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise RowUnchangeable."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RowUnchangeable(f"A {self._meta.verbose_name} is never changed or deleted.")
