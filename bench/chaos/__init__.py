"""Tests a whole installation under faults: real hosts, web server, portal, database and disk.

`python -m bench.chaos` (or `make chaos`) injects faults that a seed determines until a large batch
is done. It then counts documents that are lost, filed twice, wrong or unexplained. docs/chaos.md
shows a run.

settings     the environment of every program of a run
schedule     which fault occurs when, where and for how long, determined by the seed
expected_documents  the documents and their expected outcomes
processes    the processes of a host by their role
clock        a wall clock that can be changed while programs run
servers      PostgreSQL, which is stopped abruptly, and SQLite, which is locked
portal_proxy the connection to the portal, which can be interrupted
installation hosts, web server, portal and disk of one run; stopped programs are restarted
uploads      files that are uploaded to the web server, also while it is killed
injection    the injection of the faults when they are due
tally        the counts at the end, which `table` displays
run          one complete run
"""
