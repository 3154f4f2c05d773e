"""Watches of users' namespaces: a few while a server starts or stops, and one of the pod of a running server."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp.http_exceptions import LineTooLong
from kubernetes_asyncio.client import ApiClient
from kubernetes_asyncio.client.rest import RESTClientObject
from kubespawner import KubeSpawner
from kubespawner.spawner import PodReflector

#: How long a watch of a running server's pod lasts before the next one. Seconds.
WATCH_SECONDS = 240

#: From the beginning of a watch to that of the next one, at least. Seconds.
RETRY_SECONDS = 5.0


class PodList(PodReflector):
    """Pods, listed once."""

    async def start(self) -> None:
        """Lists them."""
        await self._list_and_update()


class BriefWatches(KubeSpawner):
    """KubeSpawner that watches a namespace only while something waits for a change in it.

    KubeSpawner keeps its watches for as long as the hub runs. With a namespace for each user these are two connections for
    each, opened anew every ten seconds, of a client that has a hundred: beside fifty users, a start waits for one and fails.
    """

    #: How many starts and stops wait, by server.
    _waiting: Counter[str] = Counter()

    #: Of the pod, while the server runs.
    _watch: asyncio.Task[None] | None = None
    _look: asyncio.Task[int | None] | None = None

    #: Whether the user has made the pod too large to be watched.
    _too_large: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lift_limit(self.api.api_client)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """For what waits for a change. Watches that begin meanwhile end with the last one that waits."""
        _, server = self._get_reflector_key("pods")
        if isinstance(self.pod_reflector, PodList):
            # Of a poll that stops the server.
            self._forget_watches()
        self._waiting[server] += 1
        try:
            yield
        finally:
            self._waiting[server] -= 1
            if not self._waiting[server]:
                del self._waiting[server]
                # A watch that has not begun yet ends with CancelledError.
                await asyncio.gather(*(one.stop() for one in self._forget_watches()), return_exceptions=True)

    def _get_reflector_key(self, kind: str) -> tuple[str, str]:
        return kind, f"{self.namespace}/{self.pod_name}"

    async def _start_reflector(self, kind: str, *args: Any, **kwargs: Any) -> Any:
        # KubeSpawner's are of a namespace, where users can make any number of pods with the same labels, of 9 MB each.
        name = "metadata.name" if kind == "pods" else "involvedObject.name"
        fields = {**kwargs.pop("fields", {}), name: self.pod_name}
        return await super()._start_reflector(kind, *args, fields=fields, **kwargs)

    def _forget_watches(self) -> list[Any]:
        keys = [self._get_reflector_key(kind) for kind in ("pods", "events")]
        return [self.reflectors.pop(key) for key in keys if key in self.reflectors]

    async def poll(self) -> int | None:
        """As KubeSpawner's, from a list: JupyterHub asks every 30 seconds. A pod that is being deleted has ended."""
        key = self._get_reflector_key("pods")
        if key in self.reflectors:
            return await self._poll()
        only = {"metadata.name": self.pod_name}
        listed = PodList(parent=self, namespace=self.namespace, labels={"component": self.component_label}, fields=only)
        await listed.start()
        self.reflectors.setdefault(key, listed)
        try:
            return await self._poll()
        finally:
            if self.reflectors.get(key) is listed:
                del self.reflectors[key]

    async def _poll(self) -> int | None:
        status: int | None = await super().poll()
        if status is None and self._too_large:
            self._too_large = False
            await self.stop(now=True)
            return 1
        return 1 if status is None and is_ending(self._own_pod()) else status

    def _own_pod(self) -> Mapping[str, Any]:
        """As the API server had it last; empty before there is one."""
        pods = {} if self.pod_reflector is None else self.pod_reflector.pods
        pod: Mapping[str, Any] = pods.get(f"{self.namespace}/{self.pod_name}", {})
        return pod

    def start_polling(self) -> None:
        """As JupyterHub's, and takes the server's route from its proxy as soon as the pod ends: another pod may get the address."""
        super().start_polling()
        self._too_large = False
        self._watch = asyncio.ensure_future(self._watch_pod())

    def stop_polling(self) -> None:
        """As JupyterHub's."""
        super().stop_polling()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _watch_pod(self) -> None:
        loop = asyncio.get_running_loop()
        # Whom `poll_and_notify` tells is known once the proxy has the route.
        while not self._callbacks:
            await asyncio.sleep(0.1)
        while True:
            again = loop.time() + RETRY_SECONDS
            try:
                await self._watch_once()
            except Exception as error:
                # One that lasted was cut on its way, as by a load balancer.
                if loop.time() < again:
                    self.log.warning("the pod %s of a running server is not watched: %r", self.pod_name, error)
            await asyncio.sleep(again - loop.time())

    async def _watch_once(self) -> None:
        response = await self.api.list_namespaced_pod(
            namespace=self.namespace,
            field_selector=f"metadata.name={self.pod_name}",
            watch=True,
            timeout_seconds=WATCH_SECONDS,
            _preload_content=False,
            _request_timeout=2 * WATCH_SECONDS,
        )
        async with response:
            response.raise_for_status()
            # It begins with the pod as it is.
            try:
                async for line in response.content:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RuntimeError(event["object"]["message"])
                    if event["type"] == "DELETED" or is_ending(event["object"]):
                        await self._end()
            # Before aiohttp 3.13 it is a ValueError.
            except (LineTooLong, ValueError) as error:
                self.log.warning("the server ends, as its pod %s is too large to be watched: %s", self.pod_name, error)
                self._too_large = True
                await self._end()

    async def _end(self) -> None:
        try:
            await self.user.settings["proxy"].delete_user(self.user, self.name)
        finally:
            # Which ends this task.
            self._look = asyncio.ensure_future(self.poll_and_notify())

    async def stop(self, now: bool = False) -> None:
        """As KubeSpawner's."""
        async with self.watching():
            await super().stop(now)


def is_ending(pod: Mapping[str, Any]) -> bool:
    """Whether a pod (v1.Pod) that has run loses its address, or may have lost it."""
    status = pod.get("status", {})
    containers = status.get("containerStatuses") or []
    has_ended = any("terminated" in one["state"] for one in containers if one["name"] == "notebook")
    return "deletionTimestamp" in pod.get("metadata", {}) or has_ended or status.get("phase") in ("Failed", "Succeeded")


def lift_limit(client: ApiClient) -> None:
    """Lets a client have as many connections at once as it has requests: many servers may start, each with two watches."""
    if client.configuration.connection_pool_maxsize is None:
        return
    client.configuration.connection_pool_maxsize = None
    limited, client.rest_client = client.rest_client, RESTClientObject(client.configuration)
    asyncio.ensure_future(limited.close())
