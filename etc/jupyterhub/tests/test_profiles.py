from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from berth_jupyterhub.account import AccountError, parse_answer
from berth_jupyterhub.pods import literal, obstacle_of, own_namespace, traits_of
from berth_jupyterhub.profiles import allowed_profiles, fill, read_profiles

from .test_account import ALICE

alice = parse_answer(json.dumps(ALICE).encode(), "alice")


def rendered(**more: Any) -> dict[str, Any]:
    traits = {
        "image": "registry.example.org/lab:1",
        "volumes": [{"name": "home", "hostPath": {"path": "/home/$USER", "type": "Directory"}}],
        "volume_mounts": [{"name": "home", "mountPath": "$HOME"}],
        "environment": {"SCRATCH": "/scratch/$USER", "PRICE": "5$$"},
        "extra_annotations": {"pod.kubernetes.io/lifetime": "8h"},
    }
    return {"name": "lab", "description": "", "groups": None, "backend": "pod", "traits": traits, **more}


def test_groups_decide_which_profiles_are_shown() -> None:
    profiles = read_profiles([rendered(), rendered(name="gpu", groups=["gpu"]), rendered(name="big", groups=["big"])])
    assert [one.name for one in allowed_profiles(profiles, alice)] == ["lab", "gpu"]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("/home/$USER", "/home/alice"),
        ("${HOME}/x", "/home/alice/x"),
        ("$UID:$GID", "5001:5001"),
        ("$$USER", "$USER"),
        ("$PATH ${PATH} $", "$PATH ${PATH} $"),
    ],
)
def test_templates(template: str, text: str) -> None:
    assert fill(template, alice) == text


def test_what_is_filled_in_is_no_template() -> None:
    assert fill("$HOME", replace(alice, home="/home/$USER")) == "/home/$USER"


def test_a_pod_has_the_identity_of_its_user() -> None:
    (profile,) = read_profiles([rendered()])
    traits = traits_of(profile, alice)
    assert (traits["uid"], traits["gid"], traits["fs_gid"], traits["supplemental_gids"]) == (5001, 5001, 5001, [6000])
    assert traits["working_dir"] == "/home/alice"
    assert traits["environment"] == {
        "SCRATCH": "/scratch/alice",
        "PRICE": "5$",
        "HOME": "/home/alice",
        "USER": "alice",
        "LOGNAME": "alice",
    }
    assert traits["extra_annotations"]["berth.dev/passwd"] == ALICE["passwd"]


def test_kubespawner_expands_nothing() -> None:
    assert literal({"a": ["{username}", 1]}) == {"a": ["{{username}}", 1]}
    assert literal("{username}").format(username="x") == "{username}"


def test_the_namespace_is_that_of_ondemand() -> None:
    assert own_namespace("u-", "a.b@example.org") == "u-a-b-example-org"


def waiting(**state: object) -> dict[str, Any]:
    return {"status": {"phase": "Pending", "containerStatuses": [{"state": state}]}}


@pytest.mark.parametrize(
    ("pod", "reason", "is_final"),
    [
        ({}, "it has no pod yet", False),
        (waiting(waiting={"reason": "ContainerCreating"}), "its pod does not run yet", False),
        (waiting(waiting={"reason": "ErrImagePull", "message": "EOF"}), "ErrImagePull: EOF", False),
        (waiting(waiting={"reason": "ErrImageNeverPull", "message": "no"}), "ErrImageNeverPull: no", True),
        (waiting(terminated={"exitCode": 0, "reason": "Completed"}), "it ended with exit status 0", True),
        ({"status": {"phase": "Failed", "reason": "Evicted"}}, "Evicted", True),
        (
            {"status": {"conditions": [{"status": "False", "message": "0/1 nodes are available"}]}},
            "0/1 nodes are available",
            False,
        ),
    ],
)
def test_a_pod_that_does_not_run(pod: dict[str, Any], reason: str, is_final: bool) -> None:
    assert obstacle_of(pod) == (reason, is_final)


def test_what_a_user_wrote_adds_no_lines_to_the_log() -> None:
    reason, _ = obstacle_of(waiting(terminated={"exitCode": 1, "message": "x\n[I] another user\r\x1b[2K\x9b\u202e"}))
    error = AccountError(f"your server could not start: {reason}", "hub-pod-failed")
    shown = r"your server could not start: it ended with exit status 1 x\n[I] another user\r\x1b[2K\x9b\u202e [hub-pod-failed]"
    assert str(error) == f"HTTP 403: Forbidden ({shown})"
    assert error.jupyterhub_message == shown
