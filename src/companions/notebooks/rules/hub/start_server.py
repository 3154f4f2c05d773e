"""Starts a notebook server that listens before the hub is told its port, and that the hub can tell from every other one.

The hub makes a certificate for each start, and leads nobody to a server that does not have its key. In place of
batchspawner-singleuser, which chooses a port that others can take until the server listens.
"""

import atexit
import base64
import json
import os
import runpy
import shutil
import socket
import sys
import tempfile
import urllib.request
from urllib.parse import urlsplit

from tornado import netutil, tcpserver


def listen():
    """A socket for IPv6 and IPv4, so that nobody else can have the port with the other one."""
    try:
        return socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    except (OSError, ValueError):
        return socket.create_server(("", 0), backlog=128)


listening = listen()
listening.setblocking(False)
own_port = listening.getsockname()[1]
bind_others = netutil.bind_sockets


def bind_sockets(port, *args, **named):
    """As tornado's, which finds its own port taken."""
    return [listening.dup()] if port == own_port else bind_others(port, *args, **named)


netutil.bind_sockets = tcpserver.bind_sockets = bind_sockets

make_context = netutil.ssl_options_to_context
own_contexts = []


def ssl_options_to_context(options, server_side=None):
    """As tornado's, which reads the files anew for each connection, and the proxy makes one for each request."""
    if not isinstance(options, dict) or options.get("certfile") != os.environ["JUPYTERHUB_SSL_CERTFILE"] or not server_side:
        return make_context(options, server_side)
    if not own_contexts:
        own_contexts.append(make_context(options, server_side))
    return own_contexts[0]


netutil.ssl_options_to_context = ssl_options_to_context

# Key and certificate. Nothing of them is on a disk, and no kernel inherits them.
identity = os.memfd_create("identity")
os.write(identity, base64.b64decode(os.environ.pop("JUPYTERHUB_SERVER_IDENTITY")))
for name in ("KEYFILE", "CERTFILE"):
    os.environ[f"JUPYTERHUB_SSL_{name}"] = f"/proc/{os.getpid()}/fd/{identity}"
url = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
os.environ["JUPYTERHUB_SERVICE_URL"] = url._replace(netloc=f"{url.hostname}:{own_port}").geturl()

told = urllib.request.Request(
    os.environ["JUPYTERHUB_API_URL"] + "/batchspawner",
    json.dumps({"port": own_port}).encode(),
    {"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"], "Content-Type": "application/json"},
)
urllib.request.urlopen(told, timeout=60).close()

# Other users of the node can connect to every TCP port of a kernel, but not to sockets in a directory that is the user's.
# The home may be on a file system without sockets, and their paths must be shorter than 108 characters.
runtime_directory = os.environ["JUPYTER_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="jupyter-", dir="/tmp")
atexit.register(shutil.rmtree, runtime_directory, ignore_errors=True)

sys.argv = [*sys.argv[1:], "--KernelManager.transport=ipc"]
runpy.run_path(shutil.which(sys.argv[0]), run_name="__main__")
