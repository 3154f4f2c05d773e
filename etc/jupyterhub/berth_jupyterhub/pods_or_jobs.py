"""A spawner for a hub whose profiles are for pods and for Slurm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from .account import look_up
from .pods import BerthKubeSpawner
from .profiles import chosen_profile
from .slurm import BerthSlurmSpawner


class BerthSpawner(BerthKubeSpawner):
    """Starts a pod, or has a spawner of its own for a job, as the chosen profile says."""

    _job: BerthSlurmSpawner | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._made_with = kwargs
        super().__init__(*args, **kwargs)

    async def start(self) -> Any:
        """Starts what the chosen profile is for."""
        account = await look_up(self.berth_socket, self.user.name)
        chosen = chosen_profile(self.berth_profiles, account, self.user_options.get("profile"))
        if chosen.backend != "slurm":
            return await super().start()
        self._job = BerthSlurmSpawner(**self._made_with)
        for name in ("user_options", "api_token", "admin_access", "handler"):
            setattr(self._job, name, getattr(self, name))
        return await self._job.start()

    async def poll(self) -> Any:
        """As of the job or the pod."""
        return await (super().poll() if self._job is None else self._job.poll())

    async def _watch_pod(self) -> None:
        """A job has none."""
        if self._job is None:
            await super()._watch_pod()

    async def stop(self, now: bool = False) -> None:
        """Ends the job or the pod."""
        await (super().stop(now) if self._job is None else self._job.stop(now))

    async def progress(self) -> AsyncIterator[Any]:
        """What the user sees meanwhile."""
        while self._job is None and self._start_future is None:
            await asyncio.sleep(0.1)
        async for event in super().progress() if self._job is None else self._job.progress():
            yield event

    def use_port(self, port: int) -> None:
        """The server of a job listens at this port of its node."""
        if self._job is not None:
            self._job.use_port(port)

    def get_state(self) -> dict[str, Any]:
        """That of the pod, and of the job."""
        state: dict[str, Any] = super().get_state()
        return state if self._job is None else {**state, "job": self._job.get_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """After a restart of the hub."""
        super().load_state(state)
        if "job" in state:
            self._job = BerthSlurmSpawner(**self._made_with)
            self._job.load_state(state["job"])

    def clear_state(self) -> None:
        """Forgets the job, too."""
        super().clear_state()
        self._job = None
