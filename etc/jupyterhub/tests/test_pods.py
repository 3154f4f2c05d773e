"""Names of pods."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from berth_jupyterhub.pods import BerthKubeSpawner


async def names_of(secret: bytes, server: str) -> list[str]:
    user = SimpleNamespace(name="alice", id=1, url="", spawners={}, settings={"cookie_secret": secret})
    named = SimpleNamespace(name=server, server=None)
    spawner = BerthKubeSpawner(_mock=True, user=user, orm_spawner=named, berth_namespace_prefix="u-")
    at_first = spawner.pod_name
    # As JupyterHub does before each start.
    spawner.clear_state()
    return [at_first, spawner.pod_name, spawner.secret_name]


# KubeSpawner shortens `alice--SERVER` if it is longer than 48 characters.
@pytest.mark.parametrize("server", ["", "s" * 41, "s" * 200])
def test_hubs_have_names_of_their_own_which_are_hostnames(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.setattr("kubespawner.spawner.load_config", lambda **_: None)
    (name,) = set(asyncio.run(names_of(b"one", server)))
    assert {name} == set(asyncio.run(names_of(b"one", server)))
    assert name not in asyncio.run(names_of(b"two", server))
    assert len(name) <= 63
