"""A spawner that starts notebook servers in the user's own namespace, with the user's UID, GID and groups."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from kubernetes_asyncio.client.exceptions import ApiException
from traitlets import List, Unicode

from .account import Account, AccountError, bootstrap, look_up_for_form
from .profiles import Profile, allowed_profiles, chosen_profile, fill
from .watches import BriefWatches

#: How often a pod is looked at that does not run yet. Seconds.
WATCH_SECONDS = 1.0

#: Reasons of the kubelet after which waiting does not help, or only seldom.
HOPELESS = frozenset(
    ("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError")
    + ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
)


class BerthKubeSpawner(BriefWatches):
    """KubeSpawner with Berth's profiles.

    The namespace is the one that OnDemand's adapter computes. It is bootstrapped before each start, as by a login at the
    portal. The identity is set here and enforced by Berth's admission policies
    where the cluster has them.
    """

    berth_socket = Unicode("/run/berth/hub.sock", help="Socket of hub-bootstrap.").tag(config=True)
    berth_cluster = Unicode(help="OnDemand's name of the cluster.").tag(config=True)
    berth_namespace_prefix = Unicode(help="Prefix of users' namespaces.").tag(config=True)
    berth_profiles = List(help="What `berth render jupyterhub` writes.").tag(config=True)

    #: While a server starts, from the end of the bootstrap.
    _account: Account | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # KubeSpawner would compute another name. A running server's own is in its state.
        self.namespace = own_namespace(self.berth_namespace_prefix, self.user.name)
        self.profile_list = choices
        # KubeSpawner deletes a pod that has the name of its own, also that of another hub.
        self.pod_name_template += f"-{hub_id(self.user.settings)}"
        self.pod_name = self._expand_user_properties(self.pod_name_template)
        self.secret_name = self._expand_user_properties(self.secret_name_template)

    async def start(self) -> Any:
        """Bootstraps the namespace and starts the pod."""
        # That of an earlier start, by which KubeSpawner would end `progress`.
        self._start_future = None
        # Earlier than JupyterHub, which would give no reason.
        ends = asyncio.get_running_loop().time() + self.start_timeout - 2 * WATCH_SECONDS
        account = await bootstrap(self.berth_socket, self.user.name, self.berth_cluster)
        if account.namespace != self.namespace:
            message = f"your namespace is {account.namespace}, but this hub is configured for {self.namespace}"
            raise AccountError(message, "hub-namespace-differs")
        self._account = account
        try:
            async with self.watching():
                return await self._started_by(ends)
        except ApiException as error:
            raise AccountError(answer_of(error), "hub-pod-refused") from error
        finally:
            self._account = None

    async def _started_by(self, ends: float) -> Any:
        """Starts the pod, and says why if it does not run at a time of the event loop's clock."""
        starting = super().start()
        try:
            while not (await asyncio.wait({starting}, timeout=WATCH_SECONDS))[0]:
                reason, is_final = obstacle_of(self._own_pod())
                if is_final:
                    raise AccountError(f"your server could not start: {reason}", "hub-pod-failed")
                if asyncio.get_running_loop().time() > ends:
                    message = f"your server did not start within {self.start_timeout} s: {reason}"
                    raise AccountError(message, "hub-pod-failed")
            return starting.result()
        finally:
            starting.cancel()

    async def progress(self) -> AsyncIterator[Any]:
        """What happens to the pod while it starts. Before the bootstrap the hub may not read it, and later nothing ends a watch."""
        while self._account is None:
            await asyncio.sleep(0.1)
        async for event in super().progress():
            yield event

    async def get_pod_manifest(self) -> Any:
        """The pod. KubeSpawner logs one that the API server refuses, and the environment has the server's token."""
        return unlogged(await super().get_pod_manifest())

    def get_secret_manifest(self, owner_reference: Any) -> Any:
        """The Secret of `internal_ssl`, whose keys would be logged, too."""
        return unlogged(super().get_secret_manifest(owner_reference))

    async def account(self) -> Account:
        """The user's account. A start has just asked for it; a form asks for it anew, since groups change."""
        return self._account or await look_up_for_form(self.berth_socket, self.user.name)

    async def load_user_options(self) -> None:
        """Takes the chosen profile's traits. KubeSpawner has refused a choice that the user may not have."""
        try:
            await super().load_user_options()
        except ValueError as error:
            raise AccountError(str(error), "hub-no-profile") from error
        account = await self.account()
        chosen = chosen_profile(self.berth_profiles, account, self.user_options.get("profile"))
        for name, value in traits_of(chosen, account).items():
            # Not kubespawner_override, which merges with what an earlier choice has set.
            setattr(self, name, value)


def answer_of(error: ApiException) -> str:
    """What the API server said, such as the sentence of an admission policy."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return f"the API server answered {error.status} {error.reason}"


def obstacle_of(pod: Mapping[str, Any]) -> tuple[str, bool]:
    """Why a pod (v1.Pod) does not run yet, in the cluster's words, and whether it never will."""
    status = pod.get("status", {})
    for container in status.get("containerStatuses") or []:
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended:
            return f"it ended with exit status {ended.get('exitCode')} {ended.get('message') or ''}".strip(), True
        if waiting.get("message"):
            return f"{waiting['reason']}: {waiting['message']}", waiting["reason"] in HOPELESS
    if status.get("phase") in ("Failed", "Succeeded"):
        return status.get("message") or status.get("reason") or status["phase"], True
    for condition in status.get("conditions") or []:
        if condition["status"] == "False" and condition.get("message"):
            return condition["message"], False
    return "its pod does not run yet" if pod else "it has no pod yet", False


def unlogged(manifest: Any) -> Any:
    """An object of whose text nothing but its name is shown."""
    text = f"{manifest.kind} {manifest.metadata.name}, whose content is not logged"
    manifest.to_str = lambda: text
    return manifest


def hub_id(settings: Mapping[str, Any]) -> str:
    """What tells a hub from others, for as long as it keeps the secret of its cookies.

    With six digits the longest name of a pod has 63 characters: that many of it are the pod's hostname.
    """
    return hashlib.sha256(b"berth-hub" + settings["cookie_secret"]).hexdigest()[:6]


def own_namespace(prefix: str, name: str) -> str:
    """The user's namespace as OnDemand's Kubernetes adapter computes it."""
    return prefix + name.replace(".", "-").replace("@", "-")


async def choices(spawner: BerthKubeSpawner) -> list[dict[str, Any]]:
    """`profile_list` of a user: the profiles for one of the user's groups. Traits are set by `load_user_options`."""
    account = await spawner.account()
    return [
        {"display_name": one.name, "slug": one.name, "description": one.description, "default": not index}
        for index, one in enumerate(allowed_profiles(spawner.berth_profiles, account))
    ]


def traits_of(profile: Profile, account: Account) -> dict[str, Any]:
    """All traits of a pod: those of the profile, and the account's identity."""
    traits = fill(profile.traits, account)
    mounts = [mount["mountPath"] for mount in traits["volume_mounts"]]
    at_home = any(account.home == path or account.home.startswith(f"{path}/") for path in mounts)
    return {
        **{name: literal(value) for name, value in traits.items()},
        "uid": account.uid,
        "gid": account.gid,
        "fs_gid": account.gid,
        "supplemental_gids": [gid for gid in account.gids if gid not in (account.gid, 0)],
        "working_dir": literal(account.home) if at_home else "/",
        "extra_annotations": literal(
            {**traits["extra_annotations"], "berth.dev/passwd": account.passwd, "berth.dev/group": account.group}
        ),
        "environment": literal(
            {**traits["environment"], "HOME": account.home, "USER": account.name, "LOGNAME": account.name}
        ),
    }


def literal(value: Any) -> Any:
    """A value in which KubeSpawner expands nothing: it formats texts with `str.format`."""
    if isinstance(value, str):
        return value.replace("{", "{{").replace("}", "}}")
    if isinstance(value, Mapping):
        return {key: literal(one) for key, one in value.items()}
    if isinstance(value, list):
        return [literal(one) for one in value]
    return value
