from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from berth_jupyterhub.relay import LOOPBACK, Relay, new_certificate


def contexts(directory: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate, and what a server with its key uses."""
    certificate, key = new_certificate()
    pair = directory / f"{hash(key)}.pem"
    pair.write_text(key + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return certificate, context


async def through(relay: Relay) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, relay.port)
    writer.write(b"GET /\n")
    try:
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def test_a_relay_leads_to_the_server_of_its_start_and_to_no_other(tmp_path: Path) -> None:
    certificate, own = contexts(tmp_path)
    _, others = contexts(tmp_path)
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            requests.append(await reader.readline())
            writer.write(b"hello")
        finally:
            writer.close()

    async def answers(context: ssl.SSLContext | None) -> bytes:
        server = await asyncio.start_server(answer, LOOPBACK, 0, ssl=context)
        async with server:
            relay = Relay(LOOPBACK, server.sockets[0].getsockname()[1], certificate)
            try:
                return await through(relay)
            finally:
                relay.close()

    assert asyncio.run(answers(own)) == b"hello"
    assert requests == [b"GET /\n"]
    requests.clear()
    assert asyncio.run(answers(others)) == b""
    assert asyncio.run(answers(None)) == b""
    assert not any(b"GET" in request for request in requests)


def test_a_relay_that_is_closed_leads_nowhere() -> None:
    relay = Relay(LOOPBACK, 1, new_certificate()[0])
    relay.close()
    assert asyncio.run(through(relay)) == b""
