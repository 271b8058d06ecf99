"""Browser tests. They are a package, so that only its modules share one browser."""
