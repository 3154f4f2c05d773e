"""What the site knows of an account, from `hub-bootstrap` at the other end of a socket."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tornado.web import HTTPError

#: An answer is some kilobytes, or some hundred for an account in thousands of groups.
LONGEST_ANSWER = 1024 * 1024

#: Longer than the hook's own deadline.
ANSWER_SECONDS = 60

#: Questions at the same time. Each is a process on the host, which closes further connections.
QUESTIONS = asyncio.Semaphore(16)

#: Questions about one account that wait for their turn. It has one at a time, so that nobody's requests hold up others'.
MOST_WAITING = 20

#: How long an answer holds for further forms of the account. Seconds.
FORM_SECONDS = 5.0

#: Where a hub in a cluster has ca.crt, and tls.crt and tls.key of its own.
TLS_DIRECTORY = "/etc/berth-hub"

_account_name = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_@.-]*")

#: C0 and C1 controls, DEL, line separators and bidirectional overrides.
_controls = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


#: What is the host's or the configuration's fault. Everything else is an answer to the user.
_status_of = {
    "hub-socket-unreachable": 503,
    "hub-answer-invalid": 500,
    "hub-namespace-differs": 500,
    "hub-too-many-requests": 429,
}


_of_forms: dict[tuple[str, str], asyncio.Future[Account]] = {}


def on_one_line(text: str) -> str:
    """Text that a user may have chosen, for the hub's log: control characters become `\\n`, `\\x1b` or `\\u202e`."""
    return _controls.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class AccountError(HTTPError):  # type: ignore[misc,unused-ignore]
    """Why an account cannot have a notebook, in words for its owner. The hub shows it.

    `code` is an error code of Berth, which `berth explain` explains.
    """

    def __init__(self, message: str, code: str) -> None:
        text = on_one_line(f"{message} [{code}]")
        super().__init__(_status_of.get(code, 403), text)
        self.code = code
        #: What a page of the hub says.
        self.jupyterhub_message = text


class _Turn:
    """The questions about one account."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        #: That and those which wait for it.
        self.waiting = 0


_turns: dict[str, _Turn] = {}


@dataclass(frozen=True)
class Account:
    """An account as NSS has it, and its namespace on the hub's cluster."""

    name: str
    uid: int
    gid: int
    #: GIDs of all groups, ascending.
    gids: tuple[int, ...]
    #: Names of all groups.
    groups: frozenset[str]
    home: str
    #: Contents of /etc/passwd and /etc/group for the account's pods.
    passwd: str
    group: str
    #: None for a hub without a cluster, and where only the account was asked for.
    namespace: str | None = None


def is_account_name(name: str) -> bool:
    """Whether a name may be that of an account: ASCII, as nginx_stage has it, so that no look-alike is one."""
    return len(name) <= 255 and ".." not in name and _account_name.fullmatch(name) is not None


async def look_up(socket: str, name: str) -> Account:
    """The account of that exact name.

    Raises AccountError: `user-unknown`, `user-name-not-canonical` for another spelling, `uid-below-minimum`,
    `hub-socket-unreachable`, and the others of `hub-bootstrap`.
    """
    return await _ask(socket, {"user": name})


async def look_up_for_form(socket: str, name: str) -> Account:
    """As `look_up`, for a page that may be opened often: what was known a few seconds ago, or what is being asked."""
    key = (socket, name)
    found = _of_forms.get(key)
    if found is None:
        found = _of_forms[key] = asyncio.ensure_future(look_up(socket, name))
        found.add_done_callback(lambda done: _forget_later(key, done))
    # A page that is closed does not end the question of the others.
    return await asyncio.shield(found)


def _forget_later(key: tuple[str, str], done: asyncio.Future[Account]) -> None:
    failed = done.cancelled() or done.exception() is not None
    asyncio.get_running_loop().call_later(0 if failed else FORM_SECONDS, _of_forms.pop, key, None)


async def bootstrap(socket: str, name: str, cluster: str) -> Account:
    """Makes the account's namespace on a cluster as a login at the portal does, and returns the account with it.

    Raises AccountError as `look_up` does, and for what the API server refuses.
    """
    account = await _ask(socket, {"user": name, "cluster": cluster})
    if account.namespace is None:
        raise AccountError("the host's answer has no namespace", "hub-answer-invalid")
    return account


async def _ask(socket: str, question: dict[str, str]) -> Account:
    name = question["user"]
    if not is_account_name(name):
        raise AccountError(f"{name!r} is not the name of an account", "user-name-invalid")
    try:
        async with _turn_of(name), QUESTIONS:
            # The host closes a connection when there are too many.
            line = await _answered(socket, question) or await _answered(socket, question)
    except asyncio.TimeoutError as cause:
        raise _unreachable(socket, f"no answer within {ANSWER_SECONDS} s") from cause
    except (OSError, ValueError) as cause:
        raise _unreachable(socket, str(cause) or type(cause).__name__) from cause
    if line == b"":
        raise _unreachable(socket, "the connection was closed without an answer")
    return parse_answer(line, name)


@asynccontextmanager
async def _turn_of(name: str) -> AsyncIterator[None]:
    """The turn of a question about an account. Raises AccountError `hub-too-many-requests`."""
    turn = _turns.setdefault(name, _Turn())
    if turn.waiting >= MOST_WAITING:
        raise AccountError("too many of your requests wait: try again in a moment", "hub-too-many-requests")
    turn.waiting += 1
    try:
        async with turn.lock:
            yield
    finally:
        turn.waiting -= 1
        if not turn.waiting:
            del _turns[name]


def _unreachable(socket: str, why: str) -> AccountError:
    return AccountError(f"the host's service for accounts at {socket} does not answer: {why}", "hub-socket-unreachable")


async def _answered(socket: str, question: dict[str, str]) -> bytes:
    return await asyncio.wait_for(_exchange(socket, question), ANSWER_SECONDS)


async def _exchange(socket: str, question: dict[str, str]) -> bytes:
    reader, writer = await _connect(socket)
    try:
        writer.write(json.dumps(question).encode() + b"\n")
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()


async def _connect(socket: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the path of a Unix socket, or to `tls://HOST:PORT`, where both sides have a certificate."""
    if not socket.startswith("tls://"):
        return await asyncio.open_unix_connection(socket, limit=LONGEST_ANSWER)
    host, port = socket[len("tls://") :].rsplit(":", 1)
    context = ssl.create_default_context(cafile=f"{TLS_DIRECTORY}/ca.crt")
    context.load_cert_chain(f"{TLS_DIRECTORY}/tls.crt", f"{TLS_DIRECTORY}/tls.key")
    return await asyncio.open_connection(host, int(port), ssl=context, limit=LONGEST_ANSWER)


def parse_answer(line: bytes, name: str) -> Account:
    """The account in an answer. Raises AccountError for an answer about anything else."""
    try:
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise AccountError(str(answer["error"]["message"]), str(answer["error"]["code"]))
        account = Account(
            name=str(answer["user"]),
            uid=int(answer["uid"]),
            gid=int(answer["gid"]),
            gids=tuple(int(gid) for gid in answer["gids"]),
            groups=frozenset(str(group) for group in answer["groups"]),
            home=str(answer["home"]),
            passwd=str(answer["passwd"]),
            group=str(answer["group"]),
            namespace=answer.get("namespace"),
        )
    except (ValueError, KeyError, TypeError) as cause:
        raise AccountError(f"the host's answer about {name} is not what this hub expects", "hub-answer-invalid") from cause
    if account.name != name or account.uid == 0:
        raise AccountError(f"the host's answer is about {account.name}, not {name}", "hub-answer-invalid")
    return account
