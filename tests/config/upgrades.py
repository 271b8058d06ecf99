"""Defines what tests of upgrades share."""

# To remove a column, Django copies a table of SQLite. If migrations have branches, it goes back in
# another order than that in which it computes the columns, and copies too few of them.
CANNOT_MIGRATE_BACK = "Django cannot migrate SQLite back over branches"
