"""Watches of users' namespaces that last no longer than a server starts or stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kubernetes_asyncio.client import ApiClient
from kubernetes_asyncio.client.rest import RESTClientObject
from kubespawner import KubeSpawner
from kubespawner.spawner import PodReflector


class PodList(PodReflector):
    """The pods of a namespace, listed once."""

    async def start(self) -> None:
        """Lists them."""
        await self._list_and_update()


class BriefWatches(KubeSpawner):
    """KubeSpawner that watches a namespace only while something waits for a change in it.

    KubeSpawner keeps its watches for as long as the hub runs. With a namespace for each user these are two connections for
    each, opened anew every ten seconds, of a client that has a hundred: beside fifty users, a start waits for one and fails.
    """

    #: How many starts and stops wait, by namespace.
    _waiting: Counter[str] = Counter()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lift_limit(self.api.api_client)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """For what waits for a change. Watches that begin meanwhile end with the last one that waits."""
        namespace = self.namespace
        if isinstance(self.pod_reflector, PodList):
            # Of a poll that stops the server.
            self._forget_watches()
        self._waiting[namespace] += 1
        try:
            yield
        finally:
            self._waiting[namespace] -= 1
            if not self._waiting[namespace]:
                del self._waiting[namespace]
                # A watch that has not begun yet ends with CancelledError.
                await asyncio.gather(*(one.stop() for one in self._forget_watches()), return_exceptions=True)

    def _forget_watches(self) -> list[Any]:
        keys = [self._get_reflector_key(kind) for kind in ("pods", "events")]
        return [self.reflectors.pop(key) for key in keys if key in self.reflectors]

    async def poll(self) -> int | None:
        """As KubeSpawner's, from a list: JupyterHub asks every 30 seconds."""
        key = self._get_reflector_key("pods")
        if key in self.reflectors:
            status: int | None = await super().poll()
            return status
        listed = PodList(parent=self, namespace=self.namespace, labels={"component": self.component_label})
        await listed.start()
        self.reflectors.setdefault(key, listed)
        try:
            status = await super().poll()
            return status
        finally:
            if self.reflectors.get(key) is listed:
                del self.reflectors[key]

    async def stop(self, now: bool = False) -> None:
        """As KubeSpawner's."""
        async with self.watching():
            await super().stop(now)


def lift_limit(client: ApiClient) -> None:
    """Lets a client have as many connections at once as it has requests: many servers may start, each with two watches."""
    if client.configuration.connection_pool_maxsize is None:
        return
    client.configuration.connection_pool_maxsize = None
    limited, client.rest_client = client.rest_client, RESTClientObject(client.configuration)
    asyncio.ensure_future(limited.close())
