"""The first thing that a newcomer runs, as they run it: a host, a portal, one site's packet."""

from qualification.sandbox import Sandbox


def test_the_demo_does_the_main_job_and_proves_it_and_its_second_run_says_what_to_do(tmp_path):
    sandbox = Sandbox(tmp_path / "demo")
    sandbox.folder.mkdir()
    told = sandbox.manage("demo", "--sites", "1")
    assert told.returncode == 0, told.stderr
    assert "10 documents of 1 sites" in told.stdout
    for said in ("What became of the documents", "Filed", "On file", "1001"):
        assert said in told.stdout
    assert "The chain is consistent, but only by this installation's own word" in told.stdout
    in_one_line = " ".join(told.stdout.split())
    assert "checkpoints.log is on the same file system as" in in_one_line
    assert "This is verdict 3 of verify_audit" in told.stdout
    assert sandbox.manage("verify_archive").returncode == 0
    again = sandbox.manage("demo", "--sites", "1")
    assert again.returncode == 1
    assert "holds work already" in again.stderr
