"""The demo, run as a command: a worker host, a sample portal and the packet of one site."""

import pytest

from qualification.sandbox import Sandbox


@pytest.mark.slow
def test_the_demo_processes_a_packet_and_refuses_a_second_run_in_the_same_folder(tmp_path):
    sandbox = Sandbox(tmp_path / "demo")
    sandbox.folder.mkdir()
    result = sandbox.manage("demo", "--sites", "1")
    assert result.returncode == 0, result.stderr
    assert "10 documents of 1 sites" in result.stdout
    for text in ("Outcomes", "Filed", "On file", "1001"):
        assert text in result.stdout
    assert "The chain is consistent, not confirmed by an independent anchor" in result.stdout
    output = " ".join(result.stdout.split())
    assert "checkpoints.log is on the same file system as" in output
    assert "This is verdict 3 of verify_audit" in result.stdout
    assert sandbox.manage("verify_archive").returncode == 0
    repeated = sandbox.manage("demo", "--sites", "1")
    assert repeated.returncode == 1
    assert "already contains documents" in repeated.stderr
