"""Leads the hub and its proxy to one server in a job, and to nothing else that listens at its address."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import resource
import socket
import ssl
import threading
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

#: How long a server may take to accept a connection. Seconds.
CONNECT_SECONDS = 20

#: Connections to one server at the same time: each takes descriptors of the hub, and a quarter of a MiB.
MOST_CONNECTIONS = 200

log = logging.getLogger("jupyterhub.berth")


def new_certificate() -> tuple[str, str]:
    """A certificate for one start of a server, and its key, in PEM. It names nobody: the hub knows it as a whole."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "notebook")])
    now = datetime.now(timezone.utc)
    unsigned = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        # The clocks of nodes may differ, and servers may run for long.
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=3650),
    )
    certificate = unsigned.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.decode(), secret.decode()


class Relay:
    """A socket for the server that has the key of a certificate.

    No byte of a request leaves before the other side has proved that it has the key: JupyterHub's proxy can only check
    whether some certificate of the hub has the name of the node, as that of every user's server there has. The socket is in
    a directory of the hub's account, so that nobody else can connect to it, or listen there while there is no hub, whose
    proxy may still have the route.
    """

    def __init__(self, directory: str, node: str, port: int, certificate: str) -> None:
        self._address = (node, port)
        self._context = ssl.create_default_context(cadata=certificate)
        self._context.check_hostname = False
        # The same after a restart of the hub, and never that of another start.
        path = os.path.join(_private(directory), hashlib.sha256(certificate.encode()).hexdigest()[:16])
        # JupyterHub puts a port behind each address, and its proxy takes it for a part of the path.
        self._paths = (path, f"{path}:80")
        self._remove()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        os.symlink(path, f"{path}:80")
        listener.listen(128)
        #: Its host is the path, of which JupyterHub lowers the case.
        self.url = "http+unix://" + re.sub(rb"[^a-z0-9-]", lambda found: b"%%%02x" % found[0][0], os.fsencode(path)).decode()
        # asyncio itself would let one be collected whose client has gone.
        self._connections: set[asyncio.Task[Any] | None] = set()
        self._serving = asyncio.run_coroutine_threadsafe(self._serve(listener), _loop())

    def close(self) -> None:
        """Leads nowhere from now on."""
        self._remove()
        self._serving.cancel()

    def _remove(self) -> None:
        for path in self._paths:
            with suppress(FileNotFoundError):
                os.unlink(path)

    async def _serve(self, listener: socket.socket) -> None:
        async with await asyncio.start_unix_server(self._connected, sock=listener) as server:
            await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.current_task()
        self._connections.add(task)
        try:
            await self._lead(reader, writer)
        finally:
            self._connections.remove(task)

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            connecting = asyncio.open_connection(*self._address, ssl=self._context)
            from_server, to_server = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            log.warning("no connection to the server that this hub started at %s:%s: %s", *self._address, str(error) or "no answer")
            writer.close()
            return
        await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))


def _private(directory: str) -> str:
    """The absolute path of a directory in which nobody else can do anything; made if there is none. Raises PermissionError."""
    os.makedirs(directory, 0o700, exist_ok=True)
    found = os.stat(directory)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"{directory} is not a directory of the hub's account with mode 0700")
    return os.path.abspath(directory)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    except OSError:
        # One of both has closed the connection without an end.
        pass
    finally:
        target.close()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Of a thread for all relays, so that the hub's pages do not wait for users' downloads."""
    # Each connection takes two descriptors, and a service of systemd has 1024 unless it asks for more.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="berth-relay", daemon=True).start()
    return loop
