"""Commands that the hub runs as a user."""

from __future__ import annotations

import asyncio
import resource

import pytest

from berth_jupyterhub.slurm import BerthSlurmSpawner


def run(command: str, given: str | None = None) -> str:
    spawner = BerthSlurmSpawner()
    return str(asyncio.run(asyncio.wait_for(spawner.run_command(command, input=given), 20)))


def test_output_and_errors() -> None:
    assert run("cat", "4711\n") == "4711"
    with pytest.raises(RuntimeError, match="^Invalid job id$"):
        run("echo Invalid job id >&2; exit 1")


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_command_that_writes_much_is_cut_off(stream: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RuntimeError, match="more than 65536 bytes"):
        run(f"exec head -c 300000000 /dev/zero >&{stream}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
