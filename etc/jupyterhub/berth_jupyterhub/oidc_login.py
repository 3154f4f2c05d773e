"""Login with the identity provider of the portal."""

from __future__ import annotations

from typing import Any

from oauthenticator.generic import GenericOAuthenticator

from .account import AccountError
from .account_names import AccountNames


class BerthOAuthenticator(AccountNames, GenericOAuthenticator):
    """oauthenticator whose users are accounts."""

    def user_info_to_username(self, user_info: dict[str, Any]) -> str:
        """The claim's value. Raises AccountError for an address that the identity provider has not verified."""
        if self.username_claim == "email" and user_info.get("email_verified") is False:
            raise AccountError("the identity provider has not verified the address", "user-name-invalid")
        name: str = super().user_info_to_username(user_info)
        return name
