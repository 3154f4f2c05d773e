"""Login with the site's directory."""

from __future__ import annotations

from ldapauthenticator import LDAPAuthenticator

from .account_names import AccountNames


class BerthLDAPAuthenticator(AccountNames, LDAPAuthenticator):
    """ldapauthenticator whose users have the directory's own spelling (`use_lookup_dn_username`)."""
