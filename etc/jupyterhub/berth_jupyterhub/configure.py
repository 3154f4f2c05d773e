"""The hub's configuration from what `berth render jupyterhub` writes."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from .profiles import read_profiles


def configure(c: Any, settings: Mapping[str, Any]) -> None:
    """Sets the spawner with the site's profiles, and the authenticator if the settings have one.

    `c` is the configuration object of `jupyterhub_config.py`. What the file sets after this call takes precedence.
    """
    socket = settings["socket"]
    # Servers outlive a restart of the hub, which finds them again.
    c.JupyterHub.cleanup_servers = False
    # A job may wait in the queue, and a node may have to pull the image. What cannot start is reported earlier.
    c.Spawner.start_timeout = 300
    # The spawners read the choice themselves. Without this, JupyterHub warns at each start.
    c.Spawner.apply_user_options = lambda spawner, options: None
    profiles = read_profiles(settings["profiles"])
    backends = {one.backend for one in profiles}
    if "pod" in backends:
        c.JupyterHub.spawner_class = "berth_jupyterhub.pods.BerthKubeSpawner"
        c.BerthKubeSpawner.berth_socket = socket
        c.BerthKubeSpawner.berth_cluster = settings["cluster"]
        c.BerthKubeSpawner.berth_namespace_prefix = settings["namespace_prefix"]
        c.BerthKubeSpawner.berth_profiles = profiles
        # The hub has no right to it, and claims belong to their users.
        c.BerthKubeSpawner.delete_pvc = False
        # Seconds. After KubeSpawner's three it asks again, finds the pod, and deletes it to make another one.
        c.BerthKubeSpawner.k8s_api_request_timeout = 30
        c.BerthKubeSpawner.k8s_api_request_retry_timeout = 60
        # KubeSpawner's default is the command of the image, and no arguments.
        c.BerthKubeSpawner.cmd = ["jupyterhub-singleuser"]
    if "slurm" in backends:
        c.JupyterHub.spawner_class = "berth_jupyterhub.slurm.BerthSlurmSpawner"
        c.BerthSlurmSpawner.berth_socket = socket
        c.BerthSlurmSpawner.berth_profiles = profiles
        c.BerthSlurmSpawner.req_jobs = settings["jobs"]
    if len(backends) > 1:
        c.JupyterHub.spawner_class = "berth_jupyterhub.pods_or_jobs.BerthSpawner"
    if "ldap" in settings:
        _configure_ldap(c, settings["ldap"], socket)
    if "oidc" in settings:
        _configure_oidc(c, settings["oidc"], socket)


def _configure_ldap(c: Any, traits: Mapping[str, Any], socket: str) -> None:
    c.JupyterHub.authenticator_class = "berth_jupyterhub.ldap_login.BerthLDAPAuthenticator"
    authenticator = c.BerthLDAPAuthenticator
    authenticator.berth_socket = socket
    # Groups decide on profiles. `allowed_groups` after this call narrows the login, too.
    authenticator.allow_all = True
    # ldap3 accepts every certificate unless told otherwise.
    authenticator.tls_kwargs = {"validate": ssl.CERT_REQUIRED, "ca_certs_file": traits.get("ca_file")}
    for name, value in traits.items():
        if name == "ca_file":
            continue
        if name == "lookup_dn_search_password_file":
            authenticator.lookup_dn_search_password = _secret(value)
        else:
            setattr(authenticator, name, value)


def _configure_oidc(c: Any, settings: Mapping[str, Any], socket: str) -> None:
    c.JupyterHub.authenticator_class = "berth_jupyterhub.oidc_login.BerthOAuthenticator"
    authenticator = c.BerthOAuthenticator
    authenticator.berth_socket = socket
    authenticator.allow_all = True
    ca_file = settings.get("ca_file")
    endpoints = _discover(settings["issuer"], ca_file)
    authenticator.authorize_url = endpoints["authorization_endpoint"]
    authenticator.token_url = endpoints["token_endpoint"]
    # An issuer need not have it.
    authenticator.userdata_url = endpoints.get("userinfo_endpoint", "")
    authenticator.berth_issuer = settings["issuer"]
    authenticator.berth_email_verified = settings.get("email_verified", "required")
    authenticator.client_id = settings["client_id"]
    authenticator.client_secret = _secret(settings["client_secret_file"])
    authenticator.username_claim = settings["username_claim"]
    authenticator.scope = ["openid", "profile", *(["email"] if settings["username_claim"] == "email" else [])]
    authenticator.login_service = settings["issuer"].split("/")[2]
    if ca_file is not None:
        authenticator.http_request_kwargs = {"ca_certs": ca_file}


def _secret(path: str) -> str:
    """The line in a file. Raises SystemExit, with which the hub ends."""
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\n")
    except OSError as error:
        raise SystemExit(f"berth: cannot read {path}: {error.strerror}. Make it a file of the hub's account, mode 0600.") from error


def _discover(issuer: str, ca_file: str | None) -> dict[str, Any]:
    """The issuer's endpoints (OpenID Connect Discovery 1.0, section 4). Raises OSError, ValueError."""
    if not issuer.startswith("https://"):
        raise ValueError(f"the issuer {issuer} must begin with https://")
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    with urlopen(address, timeout=20, context=ssl.create_default_context(cafile=ca_file)) as answer:
        endpoints: dict[str, Any] = json.loads(answer.read(1024 * 1024))
    if endpoints["issuer"] != issuer:
        raise ValueError(f"{address} names the issuer {endpoints['issuer']}, not {issuer}: compare it with the configured one")
    return endpoints
