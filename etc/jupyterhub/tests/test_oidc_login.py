from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import patch

import jwt
import pytest
from oauthenticator.oauth2 import OAuthenticator
from traitlets.config import Config

from berth_jupyterhub.account import AccountError
from berth_jupyterhub.oidc_login import BerthOAuthenticator

ISSUER = "https://idp.example.org/v2.0"
CLAIMS = {"iss": ISSUER, "aud": "hub", "exp": 4102444800, "sub": "x"}


def authenticator(**traits: Any) -> BerthOAuthenticator:
    wanted = {"berth_issuer": ISSUER, "client_id": "hub", "userdata_url": "https://idp.example.org/userinfo", **traits}
    return BerthOAuthenticator(config=Config({"BerthOAuthenticator": wanted}))


def name_by(one: BerthOAuthenticator, claims: dict[str, Any], userinfo: dict[str, Any]) -> str:
    """The name of whoever has this ID token and this userinfo."""

    async def answer(*_: object) -> dict[str, Any]:
        return dict(userinfo)

    with patch.object(OAuthenticator, "token_to_user", answer):
        token = jwt.encode(claims, "x" * 32)
        return one.user_info_to_username(asyncio.run(one.token_to_user({"id_token": token, "access_token": "t"})))


@pytest.mark.parametrize("word", [False, "false", "true", 0, 1, None])
def test_an_address_is_verified_only_if_the_claim_is_true(word: object) -> None:
    about = {"email": "a@example.org", "email_verified": word}
    for setting in ("required", "if-present"):
        with pytest.raises(AccountError, match="user-name-invalid"):
            authenticator(username_claim="email", berth_email_verified=setting).user_info_to_username(about)


def test_a_provider_may_have_no_claim_for_verified_addresses() -> None:
    about = {"email": "a@example.org"}
    with pytest.raises(AccountError, match="user-name-invalid"):
        authenticator(username_claim="email").user_info_to_username(about)
    trusting = authenticator(username_claim="email", berth_email_verified="if-present")
    assert trusting.user_info_to_username(about) == "a@example.org"


def test_what_userinfo_says_of_an_address_is_not_about_that_of_the_id_token() -> None:
    one = authenticator(username_claim="email")
    with pytest.raises(AccountError, match="user-name-invalid"):
        name_by(one, {**CLAIMS, "email": "root@example.org"}, {"sub": "x", "email": "a@example.org", "email_verified": True})


def test_userinfo_about_another_subject_is_not_used() -> None:
    one = authenticator(username_claim="name")
    assert name_by(one, CLAIMS, {"sub": "x", "name": "alice"}) == "alice"
    with pytest.raises(ValueError, match="No name found"):
        name_by(one, CLAIMS, {"sub": "y", "name": "alice"})


@pytest.mark.parametrize("change", [{"iss": "https://other.example.org"}, {"aud": "kubernetes"}, {"exp": 1}, {"sub": None}])
def test_an_id_token_that_is_not_for_this_hub_is_refused(change: dict[str, Any]) -> None:
    one = authenticator(username_claim="name")
    with pytest.raises(AccountError, match="token-malformed"):
        name_by(one, {**CLAIMS, "name": "alice", **change}, {"sub": "x"})
