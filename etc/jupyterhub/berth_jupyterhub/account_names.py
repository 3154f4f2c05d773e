"""For an authenticator: users are accounts of the site, by exactly their names."""

from __future__ import annotations

from typing import Any

from jupyterhub.auth import Authenticator
from traitlets import Unicode

from .account import is_account_name, look_up


class AccountNames(Authenticator):
    """For an authenticator: no name but that of an account logs in, and none is changed into another one."""

    berth_socket = Unicode("/run/berth/hub.sock", help="Socket of hub-bootstrap.").tag(config=True)

    def normalize_username(self, username: str) -> str:
        """Keeps the spelling. JupyterHub's own lowers the case, which makes one user of two accounts."""
        return username

    def validate_username(self, username: str) -> bool:
        """Whether it may be an account's name: ASCII, so that no look-alike is one."""
        return is_account_name(username)

    async def run_post_auth_hook(self, handler: Any, auth_model: dict[str, Any]) -> dict[str, Any]:
        """Refuses whoever is no account, or is one by another spelling. Raises AccountError."""
        await look_up(self.berth_socket, auth_model["name"])
        model: dict[str, Any] = await super().run_post_auth_hook(handler, auth_model)
        return model
