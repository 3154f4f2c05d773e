"""Commands that the hub runs as a user."""

from __future__ import annotations

import asyncio
import resource
import signal
from types import SimpleNamespace

import pytest

from berth_jupyterhub import slurm
from berth_jupyterhub.slurm import BerthSlurmSpawner


def run(command: str, given: str | None = None) -> str:
    spawner = BerthSlurmSpawner()
    return str(asyncio.run(asyncio.wait_for(spawner.run_command(command, input=given), 20)))


def test_output_and_errors() -> None:
    assert run("cat", "4711\n") == "4711"
    with pytest.raises(RuntimeError, match="^Invalid job id$"):
        run("echo Invalid job id >&2; exit 1")


def test_what_a_command_wrote_adds_no_lines_to_the_log() -> None:
    assert run(r"printf 'a\n\033[2Kb\n'") == r"a\n\x1b[2Kb"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_command_that_writes_much_is_cut_off(stream: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RuntimeError, match="more than 65536 bytes"):
        run(f"exec head -c 300000000 /dev/zero >&{stream}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize(
    "command", ["exec sleep 60", "exec >&- 2>&-; exec sleep 60", "while :; do echo; sleep 0.1; done"]
)
def test_a_command_that_does_not_end_is_not_waited_for(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "LONGEST_SECONDS", 0.3)
    with pytest.raises(RuntimeError, match="no answer within 0.3 s"):
        run(command)


def test_one_command_of_a_server_that_has_not_ended_is_enough() -> None:
    spawner = BerthSlurmSpawner()
    spawner._unanswered = SimpleNamespace(returncode=None)
    with pytest.raises(RuntimeError, match="an earlier command has not ended"):
        asyncio.run(spawner.run_command("echo 4711"))
    spawner._unanswered.returncode = 1
    assert asyncio.run(spawner.run_command("echo 4711")) == "4711"


def host_of(answer: str) -> object:
    spawner = BerthSlurmSpawner()
    spawner.job_status = answer
    return spawner.state_gethost()


@pytest.mark.parametrize("node", ["c1", "gpu-3.cluster_a.example.org"])
def test_the_host_of_a_job(node: str) -> None:
    assert host_of(f"RUNNING {node}") == node


@pytest.mark.parametrize("host", [f"{'a' * 60}!", "a" * 65000, f"{'a.' * 30000}!", f"{' ' * 60000}!", "-n", "(null)"])
def test_what_is_no_host_is_refused_at_once(host: str) -> None:
    def stop(*_: object) -> None:
        raise AssertionError("it took a second of processor time")

    former = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1)
    try:
        assert host_of(f"RUNNING {host}") is None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
