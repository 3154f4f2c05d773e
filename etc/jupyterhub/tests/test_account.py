from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from berth_jupyterhub.account import AccountError, bootstrap, is_account_name, look_up, look_up_for_form, parse_answer

ALICE = {
    "user": "alice",
    "uid": 5001,
    "gid": 5001,
    "gids": [5001, 6000],
    "groups": ["alice", "gpu"],
    "home": "/home/alice",
    "passwd": "alice:*:5001:5001::/home/alice:/bin/bash\n",
    "group": "alice:x:5001:\n",
}


@pytest.mark.parametrize("name", ["alice", "a.b", "a@b.example", "_x", "7up", "Alice"])
def test_names_of_accounts(name: str) -> None:
    assert is_account_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "-x", ".", "..", "a..b", "a b", "a/b", "a\n", "al\u0456ce", "ａlice", "alice\u200b", "$USER", "a{b}", "x" * 256],
)
def test_look_alikes_and_paths_are_no_names(name: str) -> None:
    assert not is_account_name(name)


def test_an_answer_is_about_the_account_that_was_asked_for() -> None:
    assert parse_answer(json.dumps(ALICE).encode(), "alice").groups == {"alice", "gpu"}
    for other in ({**ALICE, "user": "bob"}, {**ALICE, "uid": 0}):
        with pytest.raises(AccountError, match="hub-answer-invalid"):
            parse_answer(json.dumps(other).encode(), "alice")


@pytest.mark.parametrize("line", [b"", b"[]", b"null", b"{}", b'{"user": "alice"}', b"\xff"])
def test_a_broken_answer_is_an_error(line: bytes) -> None:
    with pytest.raises(AccountError, match="hub-answer-invalid"):
        parse_answer(line, "alice")


def test_the_error_of_the_host_is_passed_on() -> None:
    line = b'{"error": {"code": "user-unknown", "message": "there is no user eve"}}'
    with pytest.raises(AccountError, match=r"there is no user eve \[user-unknown\]") as raised:
        parse_answer(line, "eve")
    assert raised.value.code == "user-unknown"


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def served(path: Path, answer: Answer, question: Callable[[str], Awaitable[object]]) -> object:
    server = await asyncio.start_unix_server(answer, str(path))
    async with server:
        return await question(str(path))


def test_a_name_that_is_none_is_not_asked_for(tmp_path: Path) -> None:
    with pytest.raises(AccountError, match="user-name-invalid"):
        asyncio.run(look_up(str(tmp_path / "none"), '"}\n{"user": "root'))


def test_without_the_socket(tmp_path: Path) -> None:
    with pytest.raises(AccountError, match="hub-socket-unreachable"):
        asyncio.run(look_up(str(tmp_path / "none"), "alice"))


def test_an_answer_without_end_is_not_read_forever(tmp_path: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * (2 * 1024 * 1024))
        await writer.drain()

    with pytest.raises(AccountError, match="hub-socket-unreachable"):
        asyncio.run(served(tmp_path / "socket", answer, lambda path: look_up(path, "alice")))


def test_a_bootstrap_without_a_namespace_is_none(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert json.loads(await reader.readline()) == {"user": "alice", "cluster": "prod"}
        writer.write(json.dumps(ALICE).encode() + b"\n")
        writer.close()

    with pytest.raises(AccountError, match="hub-answer-invalid"):
        asyncio.run(served(tmp_path / "socket", answer, lambda path: bootstrap(path, "alice", "prod")))


def test_one_account_has_one_question_at_a_time_and_one_for_all_forms(tmp_path: Path) -> None:
    asked: list[str] = []
    together = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal together
        name = json.loads(await reader.readline())["user"]
        asked.append(name)
        together += 1
        await asyncio.sleep(0.01)
        assert together == 1
        together -= 1
        writer.write(json.dumps({**ALICE, "user": name}).encode() + b"\n")
        writer.close()

    async def ask(path: str) -> None:
        forms = await asyncio.gather(*(look_up_for_form(path, "alice") for _ in range(150)))
        assert {one.name for one in forms} == {"alice"}
        assert asked == ["alice"]
        answers = await asyncio.gather(*(look_up(path, "alice") for _ in range(30)), return_exceptions=True)
        refused = [one for one in answers if isinstance(one, AccountError)]
        assert {one.code for one in refused} == {"hub-too-many-requests"}
        assert len(answers) - len(refused) == 20

    asyncio.run(served(tmp_path / "socket", answer, ask))
