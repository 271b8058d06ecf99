"""An app with migrations of both stages: the first adds a table, the second removes a column."""
