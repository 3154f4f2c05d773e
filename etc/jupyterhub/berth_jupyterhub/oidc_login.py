"""Login with the identity provider of the portal."""

from __future__ import annotations

from typing import Any

import jwt
from oauthenticator.generic import GenericOAuthenticator
from traitlets import Enum, Unicode

from .account import AccountError
from .account_names import AccountNames

#: Tolerated difference between the clocks of the hub and the identity provider. Seconds.
CLOCK_SKEW = 60


class BerthOAuthenticator(AccountNames, GenericOAuthenticator):
    """oauthenticator whose users are accounts, by the claim of the ID token that the API server reads."""

    berth_issuer = Unicode(help="The identity provider, as it names itself in tokens.").tag(config=True)
    berth_email_verified = Enum(("required", "if-present"), default_value="required").tag(config=True)

    async def token_to_user(self, token_info: dict[str, Any]) -> dict[str, Any]:
        """The claims of the ID token, and of userinfo for those that the token does not have. Raises AccountError."""
        claims = self._id_token_claims(token_info)
        userinfo: dict[str, Any] = await super().token_to_user(token_info) if self.userdata_url else {}
        if claims and userinfo.get("sub") != claims["sub"]:
            # OpenID Connect Core 1.0, section 5.3.2: they must not be used then.
            return claims
        if "email" in claims:
            # What userinfo says of an address is not about this one.
            userinfo.pop("email_verified", None)
        return {**userinfo, **claims}

    def _id_token_claims(self, token_info: dict[str, Any]) -> dict[str, Any]:
        """Its signature need not be checked: it comes from the token endpoint over TLS (section 3.1.3.7, point 6)."""
        if token_info.get("id_token") is None:
            return {}
        try:
            claims: dict[str, Any] = jwt.decode(
                token_info["id_token"],
                audience=self.client_id,
                issuer=self.berth_issuer,
                leeway=CLOCK_SKEW,
                options={
                    "verify_signature": False,
                    "verify_aud": True,
                    "verify_iss": True,
                    "verify_exp": True,
                    "require": ["iss", "aud", "exp", "sub"],
                },
            )
        except jwt.InvalidTokenError as error:
            raise AccountError(f"the ID token of the identity provider is not valid: {error}", "token-malformed") from error
        return claims

    def user_info_to_username(self, user_info: dict[str, Any]) -> str:
        """The claim's value. Raises AccountError for an address that the identity provider has not verified."""
        if self.username_claim == "email" and not self._is_verified(user_info):
            raise AccountError("the identity provider does not say that the address is verified", "user-name-invalid")
        name: str = super().user_info_to_username(user_info)
        return name

    def _is_verified(self, user_info: dict[str, Any]) -> bool:
        verified = user_info.get("email_verified")
        absent = "email_verified" not in user_info
        return verified is True or (absent and self.berth_email_verified == "if-present")
