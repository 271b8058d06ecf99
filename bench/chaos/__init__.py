"""A storm over a whole installation: real hosts, web server, portal, database and disk.

`python -m bench.chaos` (or `make chaos`) lets harms that a seed draws come down on it until a large
batch is done, and then counts: lost, filed twice, wrong, unexplained. docs/chaos.md has a run.

settings     the environment of every program of a run
schedule     which harm comes when, to whom, for how long: all of it from the seed
offer        the documents, and what each has to become
processes    a host's processes by what they are
clock        a wall clock that can be moved while programs run
servers      PostgreSQL, which is stopped dead; SQLite, which somebody locks
way          the way to the portal, which can be cut
installation hosts, web server, portal and disk of one run; who dies is started again
uploads      files that come through the web server, also while it dies
storm        the harms themselves
tally        what is left at the end, counted; `table` shows it
run          all of these in a row
"""
