from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from berth_jupyterhub.relay import Relay, new_certificate


def contexts(directory: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate, and what a server with its key uses."""
    certificate, key = new_certificate()
    pair = directory / f"{hash(key)}.pem"
    pair.write_text(key + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return certificate, context


async def through(relay: Relay) -> bytes:
    reader, writer = await asyncio.open_unix_connection(unquote(urlsplit(relay.url).netloc))
    try:
        writer.write(b"GET /\n")
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
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
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        async with server:
            relay = Relay(str(tmp_path / "relays"), "127.0.0.1", server.sockets[0].getsockname()[1], certificate)
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


def test_a_relay_has_a_bounded_number_of_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_jupyterhub.relay.MOST_CONNECTIONS", 2)
    certificate, own = contexts(tmp_path)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async def use() -> None:
        async with await asyncio.start_server(echo, "127.0.0.1", 0, ssl=own) as server:
            relay = Relay(str(tmp_path / "relays"), "127.0.0.1", server.sockets[0].getsockname()[1], certificate)
            path = unquote(urlsplit(relay.url).netloc)
            opened = [await asyncio.open_unix_connection(path) for _ in range(2)]
            for reader, writer in opened:
                writer.write(b"x")
                assert await reader.read(1) == b"x"
            assert await through(relay) == b""
            opened[0][1].close()
            while (reader_writer := await asyncio.open_unix_connection(path)) and not await asked(*reader_writer):
                await asyncio.sleep(0.01)
            relay.close()

    asyncio.run(use())


async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    try:
        writer.write(b"x")
        return await reader.read(1)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_a_relay_that_is_closed_leads_nowhere_and_leaves_nothing(tmp_path: Path) -> None:
    relays = tmp_path / "relays"
    relay = Relay(str(relays), "127.0.0.1", 1, new_certificate()[0])
    assert asyncio.run(through(relay)) == b""
    relay.close()
    assert list(relays.iterdir()) == []


def test_a_relay_is_in_a_directory_that_nobody_else_can_enter(tmp_path: Path) -> None:
    (tmp_path / "relays").mkdir(0o755)
    with pytest.raises(PermissionError):
        Relay(str(tmp_path / "relays"), "127.0.0.1", 1, new_certificate()[0])
