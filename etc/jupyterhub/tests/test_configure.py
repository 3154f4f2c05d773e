from __future__ import annotations

from types import SimpleNamespace

import pytest

from berth_jupyterhub import configure


def test_a_secret_that_cannot_be_read_ends_the_hub_with_a_sentence() -> None:
    classes = ("JupyterHub", "Spawner", "BerthLDAPAuthenticator")
    c = SimpleNamespace(**{name: SimpleNamespace() for name in classes})
    ldap = {"lookup_dn_search_password_file": "/nowhere/ldap-password"}
    with pytest.raises(SystemExit, match="cannot read /nowhere/ldap-password: No such file or directory. Make it"):
        configure(c, {"socket": "/run/berth/hub.sock", "profiles": [], "ldap": ldap})
