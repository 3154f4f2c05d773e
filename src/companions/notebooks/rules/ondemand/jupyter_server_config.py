import atexit
import os
import shutil
import tempfile

from jupyter_server.auth.login import LoginFormHandler


class PortalLogin(LoginFormHandler):
    """The form with the password is on a page of the portal, which has no _xsrf cookie of the server."""

    def check_xsrf_cookie(self):
        pass


# Other users of the node can connect to every TCP port of a kernel, but not to sockets in a directory that is the user's.
# The home may be on a file system without sockets, and their paths must be shorter than 108 characters.
runtime_directory = os.environ["JUPYTER_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="jupyter-", dir="/tmp")
atexit.register(shutil.rmtree, runtime_directory, ignore_errors=True)

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
c.KernelManager.transport = "ipc"
