"""Dask in a notebook that runs in a pod: the scheduler is in the notebook, workers are pods beside it.

kubectl makes the workers with the user's own credentials: `ood-user` is all the rights that it needs. They have the image,
identity, mounts and limits of the notebook's pod, so the admission policies let them in as they did that pod.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from distributed import Scheduler
from distributed.deploy.spec import ProcessInterface, SpecCluster
from distributed.security import Security

#: Of the notebook's pod. What the hub, the cluster's network and others have written into it is not for workers.
_spec_of_notebook = (
    *("activeDeadlineSeconds", "affinity", "imagePullSecrets", "nodeSelector", "priorityClassName"),
    *("runtimeClassName", "securityContext", "tolerations", "volumes"),
)
_container_of_notebook = ("image", "imagePullPolicy", "resources", "securityContext", "volumeMounts", "workingDir")
_annotations_of_notebook = ("berth.dev/", "pod.kubernetes.io/lifetime")

#: The hub's tokens and addresses.
_variables_of_hub = ("JUPYTERHUB_", "JPY_")


class PodCluster(SpecCluster):
    """A Dask cluster of the notebook: `scale` and `adapt` start and end workers, each in a pod.

    `context` is a context of the user's kubeconfig; default: the current one. Connections are encrypted, and only who has the
    cluster's certificate can connect. When the notebook's pod is deleted, Kubernetes deletes the workers.

    Raises RuntimeError with what kubectl said.
    """

    def __init__(self, n_workers: int = 0, context: str | None = None) -> None:
        kubectl = ["kubectl", *([] if context is None else [f"--context={context}"])]
        notebook = json.loads(_run([*kubectl, "get", "pod", socket.gethostname(), "--output=json"]))
        security = Security.temporary()
        worker = {"cls": WorkerPod, "options": {"kubectl": kubectl, "pod": worker_pod(notebook, tls_of(security))}}
        scheduler = {
            "host": notebook["status"]["podIP"],
            "protocol": "tls://",
            "security": security,
            # It has no encryption and asks for no password. In the pod, the notebook server is its proxy.
            "dashboard_address": "127.0.0.1:8787",
        }
        super().__init__(
            workers=dict.fromkeys(range(n_workers), worker),
            scheduler={"cls": Scheduler, "options": scheduler},
            worker=worker,
            security=security,
            silence_logs=logging.ERROR,
        )


class WorkerPod(ProcessInterface):
    """A worker in a pod."""

    def __init__(self, scheduler: str, name: object, kubectl: list[str], pod: Mapping[str, Any]) -> None:
        super().__init__(scheduler, name)
        self._kubectl = kubectl
        self._pod = with_command(pod, scheduler, str(name))
        self._name: str | None = None

    async def start(self) -> None:
        """Makes the pod. Raises RuntimeError, such as with the sentence of an admission policy."""
        argv = [*self._kubectl, "create", "--filename=-", "--output=jsonpath={.metadata.name}"]
        self._name = await asyncio.to_thread(_run, argv, json.dumps(self._pod))
        await super().start()

    async def close(self) -> None:
        """Deletes the pod, also one that has ended."""
        if self._name is not None:
            argv = [*self._kubectl, "delete", "pod", self._name, "--ignore-not-found", "--wait=false"]
            await asyncio.to_thread(_run, argv)
        await super().close()


def worker_pod(notebook: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """The pod of a worker, without its command: what the profile has made of the notebook's pod, and nothing of the hub."""
    metadata, spec = notebook["metadata"], notebook["spec"]
    container = spec["containers"][0]
    env = [one for one in container.get("env", []) if not one["name"].startswith(_variables_of_hub)]
    annotations = metadata.get("annotations", {})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{metadata['name'][:40]}-dask-",
            "labels": {"app.kubernetes.io/component": "dask-worker"},
            "annotations": {name: annotations[name] for name in annotations if name.startswith(_annotations_of_notebook)},
            "ownerReferences": [owner],
        },
        "spec": {
            **{key: spec[key] for key in _spec_of_notebook if key in spec},
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "containers": [
                {
                    **{key: container[key] for key in _container_of_notebook if key in container},
                    "name": "worker",
                    "env": [*env, *({"name": name, "value": value} for name, value in variables.items())],
                }
            ],
        },
    }


def with_command(pod: Mapping[str, Any], scheduler: str, name: str) -> dict[str, Any]:
    """The pod of a worker that connects to this scheduler, and ends if it cannot."""
    (container,) = pod["spec"]["containers"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--name", name]
    options = ["--death-timeout", "60", "--no-dashboard"]
    return {**pod, "spec": {**pod["spec"], "containers": [{**container, "command": [*command, *options]}]}}


def tls_of(security: Security) -> dict[str, str]:
    """Dask's configuration of a worker for these certificates, as variables."""
    tls = security.get_tls_config_for_role("worker")
    return {
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": tls["ca_file"],
        "DASK_DISTRIBUTED__COMM__TLS__WORKER__CERT": tls["cert"],
        "DASK_DISTRIBUTED__COMM__TLS__WORKER__KEY": tls["key"],
    }


def _run(argv: list[str], stdin: str = "") -> str:
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout
