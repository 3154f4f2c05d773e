"""Berth's profiles, as `berth render jupyterhub` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .account import Account, AccountError

_variable = re.compile(r"\$(\$|USER|UID|GID|HOME|\{USER\}|\{UID\}|\{GID\}|\{HOME\})")


@dataclass(frozen=True)
class Profile:
    """One choice in the form that a user sees before a server starts."""

    name: str
    #: Where the server runs, for the form.
    description: str
    #: Names of groups of which the user must be in one; None: everybody.
    groups: frozenset[str] | None
    #: The class that starts it: `pod` or `slurm`.
    backend: str
    #: Traits of the spawner. Texts are templates of an account.
    traits: Mapping[str, Any]


def read_profiles(rendered: Iterable[Mapping[str, Any]]) -> list[Profile]:
    """The profiles of a rendered configuration, in its order."""
    return [
        Profile(
            name=one["name"],
            description=one["description"],
            groups=None if one.get("groups") is None else frozenset(one["groups"]),
            backend=one["backend"],
            traits=one["traits"],
        )
        for one in rendered
    ]


def allowed_profiles(profiles: Iterable[Profile], account: Account) -> list[Profile]:
    """The profiles that the account may use, by its groups. Raises AccountError `hub-no-profile` if there is none."""
    allowed = [one for one in profiles if one.groups is None or one.groups & account.groups]
    if not allowed:
        # Without a list a spawner would start its own default.
        raise AccountError("none of this hub's profiles is for you", "hub-no-profile")
    return allowed


def chosen_profile(profiles: Iterable[Profile], account: Account, wanted: str | None) -> Profile:
    """The profile of that name, or the first one. Raises AccountError `hub-no-profile` if it is not for the account."""
    allowed = allowed_profiles(profiles, account)
    found = allowed[0] if wanted is None else next((one for one in allowed if one.name == wanted), None)
    if found is None:
        raise AccountError(f"there is no profile {wanted!r} for you", "hub-no-profile")
    return found


def fill(value: Any, account: Account) -> Any:
    """Replaces `$USER`, `$UID`, `$GID`, `$HOME` and `$$` in all texts of a value. What is filled in is not a template."""
    if isinstance(value, str):
        return _variable.sub(lambda found: _value(found[1].strip("{}"), account), value)
    if isinstance(value, Mapping):
        return {key: fill(one, account) for key, one in value.items()}
    if isinstance(value, list):
        return [fill(one, account) for one in value]
    return value


def _value(variable: str, account: Account) -> str:
    values = {
        "$": "$",
        "USER": account.name,
        "UID": str(account.uid),
        "GID": str(account.gid),
        "HOME": account.home,
    }
    return values[variable]
