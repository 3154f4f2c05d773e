"""Leads the hub and its proxy to one server in a job, and to nothing else that listens at its address."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
import threading
from datetime import datetime, timedelta, timezone
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOPBACK = "127.0.0.1"

#: How long a server may take to accept a connection. Seconds.
CONNECT_SECONDS = 20

#: How long the port of a relay is kept after its end: the proxy has no route there any more before somebody else can have it.
PORT_SECONDS = 60

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
    """A port of this host's loopback for the server that has the key of a certificate.

    No byte of a request leaves before the other side has proved that it has the key: JupyterHub's proxy can only check
    whether some certificate of the hub has the name of the node, as that of every user's server there has.
    """

    def __init__(self, node: str, port: int, certificate: str) -> None:
        self._address = (node, port)
        self._context = ssl.create_default_context(cadata=certificate)
        self._context.check_hostname = False
        listener = socket.create_server((LOOPBACK, 0), backlog=128)
        self._is_closed = False
        self.port: int = listener.getsockname()[1]
        self._serving = asyncio.run_coroutine_threadsafe(self._serve(listener), _loop())

    def close(self) -> None:
        """Leads nowhere from now on."""
        self._is_closed = True
        loop = _loop()
        loop.call_soon_threadsafe(loop.call_later, PORT_SECONDS, self._serving.cancel)

    async def _serve(self, listener: socket.socket) -> None:
        async with await asyncio.start_server(self._connected, sock=listener) as server:
            await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_closed:
            writer.close()
            return
        try:
            connecting = asyncio.open_connection(*self._address, ssl=self._context)
            from_server, to_server = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            log.warning("no connection to the server that this hub started at %s:%s: %s", *self._address, error or "no answer")
            writer.close()
            return
        await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))


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
