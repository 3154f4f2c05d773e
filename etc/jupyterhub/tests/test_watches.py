"""With a server that answers lists and watches as the API server does: no test site has a hundred users."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest
from aiohttp import web
from kubernetes_asyncio.client import Configuration

from berth_jupyterhub.pods import BerthKubeSpawner

#: Each has two watches, and the client of kubernetes_asyncio a hundred connections.
USERS = 55


class Cluster:
    """Counts the watches that are open."""

    def __init__(self) -> None:
        self.watches = 0
        #: What a watch says, and when.
        self.ending: dict[str, object] = {}
        self.ends = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """An empty list, or a watch in which nothing happens."""
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        response = web.StreamResponse()
        await response.prepare(request)
        self.watches += 1
        try:
            await asyncio.wait_for(self.ends.wait(), float(request.query["timeoutSeconds"]))
            await response.write(json.dumps({"type": "MODIFIED", "object": self.ending}).encode() + b"\n")
            await asyncio.sleep(60)
        finally:
            self.watches -= 1
        return response

    async def reach(self, watches: int) -> None:
        """Waits until so many watches are open. Raises asyncio.TimeoutError."""

        async def reached() -> None:
            while self.watches != watches:
                await asyncio.sleep(0.01)

        await asyncio.wait_for(reached(), 8)


Use = Callable[[Cluster, list[BerthKubeSpawner]], Awaitable[None]]


@pytest.fixture
def with_spawners(monkeypatch: pytest.MonkeyPatch) -> Callable[[Use], None]:
    async def run(use: Use) -> None:
        cluster = Cluster()
        app = web.Application()
        app.router.add_get("/{path:.*}", cluster.answer)
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0]
        Configuration.set_default(Configuration(host=f"http://{host}:{port}"))
        monkeypatch.setattr("kubespawner.spawner.load_config", lambda **_: None)
        hub = {"cookie_secret": b"secret"}
        users = [
            SimpleNamespace(name=f"user{index}", id=index, url="", spawners={}, settings=hub) for index in range(USERS)
        ]
        spawners = [BerthKubeSpawner(_mock=True, user=user, berth_namespace_prefix="u-") for user in users]
        try:
            await use(cluster, spawners)
        finally:
            await spawners[0].api.api_client.close()
            await runner.cleanup()

    return lambda use: asyncio.run(run(use))


async def start_and_ask(spawner: BerthKubeSpawner, everyone: asyncio.Barrier) -> None:
    async with spawner.watching():
        await asyncio.gather(spawner._start_watching_pods(), spawner._start_watching_events())
        await everyone.wait()
        # KubeSpawner gives the creation of a pod three seconds.
        await asyncio.wait_for(spawner.api.list_namespaced_pod(spawner.namespace), 3)
        await everyone.wait()


def test_servers_that_start_together_do_not_wait_for_each_others_watches(with_spawners: Callable[[Use], None]) -> None:
    async def use(cluster: Cluster, spawners: list[BerthKubeSpawner]) -> None:
        everyone = asyncio.Barrier(USERS + 1)
        starts = asyncio.gather(*(start_and_ask(spawner, everyone) for spawner in spawners))
        await everyone.wait()
        await cluster.reach(2 * USERS)
        await everyone.wait()
        await starts
        await cluster.reach(0)

    with_spawners(use)


def test_a_look_at_a_server_leaves_no_watch(with_spawners: Callable[[Use], None]) -> None:
    async def use(cluster: Cluster, spawners: list[BerthKubeSpawner]) -> None:
        assert await asyncio.gather(*(spawner.poll() for spawner in spawners)) == [1] * USERS
        async with spawners[0].watching():
            await spawners[0].poll()
            await cluster.reach(0)
        assert cluster.watches == 0
        assert BerthKubeSpawner.reflectors == {}

    with_spawners(use)


def test_a_running_server_has_one_watch_which_takes_its_route_when_its_pod_ends(with_spawners: Callable[[Use], None]) -> None:
    async def use(cluster: Cluster, spawners: list[BerthKubeSpawner]) -> None:
        spawner = spawners[0]
        gone: asyncio.Queue[str] = asyncio.Queue()

        class Proxy:
            async def delete_user(self, user: SimpleNamespace, name: str) -> None:
                gone.put_nowait(f"the route of {user.name}")

        spawner.user.settings["proxy"] = Proxy()
        metadata = {"namespace": spawner.namespace, "name": spawner.pod_name, "deletionTimestamp": "2026-01-01T00:00:00Z"}
        cluster.ending = {"metadata": metadata, "status": {"phase": "Running", "containerStatuses": []}}
        spawner.start_polling()
        spawner.add_poll_callback(lambda: gone.put_nowait("the server"))
        await cluster.reach(1)
        assert gone.empty()
        cluster.ends.set()
        assert [await asyncio.wait_for(gone.get(), 8) for _ in range(2)] == ["the route of user0", "the server"]
        await cluster.reach(0)

    with_spawners(use)
