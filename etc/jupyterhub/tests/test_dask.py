from __future__ import annotations

from typing import Any

from berth_dask import with_command, worker_pod

notebook: dict[str, Any] = {
    "metadata": {
        "name": "jupyter-alice",
        "uid": "1-2-3",
        "labels": {"component": "singleuser-server"},
        "annotations": {
            "berth.dev/passwd": "alice",
            "pod.kubernetes.io/lifetime": "8h",
            "hub.jupyter.org/username": "alice",
            "k8s.v1.cni.cncf.io/network-status": "[]",
        },
    },
    "spec": {
        "nodeName": "node1",
        "serviceAccountName": "default",
        "securityContext": {"runAsUser": 5001},
        "activeDeadlineSeconds": 28800,
        "volumes": [{"name": "home", "hostPath": {"path": "/home/alice"}}],
        "containers": [
            {
                "name": "notebook",
                "image": "registry.example.org/lab:1",
                "args": ["jupyterhub-singleuser"],
                "ports": [{"containerPort": 8888}],
                "resources": {"limits": {"cpu": "2"}},
                "volumeMounts": [{"name": "home", "mountPath": "/home/alice"}],
                "env": [
                    {"name": "JUPYTERHUB_API_TOKEN", "value": "secret"},
                    {"name": "JPY_API_TOKEN", "value": "secret"},
                    {"name": "BERTH_PROFILE", "value": "lab"},
                ],
            },
            {"name": "sidecar", "image": "sidecar"},
        ],
    },
    "status": {"podIP": "10.0.0.1"},
}


def test_a_worker_is_what_the_profile_has_made_of_the_notebook() -> None:
    pod = with_command(worker_pod(notebook, {"X": "y"}), "tls://10.0.0.1:8786", "0")
    (container,) = pod["spec"].pop("containers")
    assert pod["spec"] == {
        "securityContext": {"runAsUser": 5001},
        "activeDeadlineSeconds": 28800,
        "volumes": [{"name": "home", "hostPath": {"path": "/home/alice"}}],
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
    }
    assert pod["metadata"] == {
        "generateName": "jupyter-alice-dask-",
        "labels": {"app.kubernetes.io/component": "dask-worker"},
        "annotations": {"berth.dev/passwd": "alice", "pod.kubernetes.io/lifetime": "8h"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "jupyter-alice", "uid": "1-2-3"}],
    }
    assert container["env"] == [{"name": "BERTH_PROFILE", "value": "lab"}, {"name": "X", "value": "y"}]
    assert container["command"][3:] == ["tls://10.0.0.1:8786", "--name", "0", "--death-timeout", "60", "--no-dashboard"]
    assert sorted(container) == ["command", "env", "image", "name", "resources", "volumeMounts"]
