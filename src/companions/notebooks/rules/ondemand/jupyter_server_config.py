import os

from jupyter_server.auth.login import LoginFormHandler


class PortalLogin(LoginFormHandler):
    """The form with the password is on a page of the portal, which has no _xsrf cookie of the server."""

    def check_xsrf_cookie(self):
        pass


c = get_config()  # noqa: F821, which Jupyter defines
# IPv6, too: otherwise another user of the node could listen at this port there, and get the password from the portal.
c.ServerApp.ip = "*"
c.ServerApp.port = int(os.environ["BERTH_PORT"])
c.ServerApp.port_retries = 0
c.ServerApp.base_url = os.environ["BERTH_BASE_URL"]
c.ServerApp.allow_remote_access = True
c.ServerApp.open_browser = False
c.ServerApp.root_dir = os.environ["HOME"]
c.IdentityProvider.token = ""
c.PasswordIdentityProvider.hashed_password = os.environ["BERTH_PASSWORD_HASH"]
c.PasswordIdentityProvider.allow_password_change = False
c.PasswordIdentityProvider.login_handler_class = PortalLogin
