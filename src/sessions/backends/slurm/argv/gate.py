"""Lets logins to the sshd of a job, and nobody else.

It listens on all addresses. Who connects says a word first that only holders of the allocation's key can make
(gate-word.ts), once; with such a connection sshd starts. It ends when no connection has been open or
awaited for a while.
"""

import errno
import hmac
import os
import select
import signal
import socket
import struct
import sys
import time

KEY_FILE, PORT_FILE, LOGINS = sys.argv[1:4]
FIRST_PORT, PORTS = map(int, sys.argv[4:6])
FIRST_SECONDS, LOGIN_SECONDS, GRACE, SOFT = map(float, sys.argv[6:10])
SSHD = sys.argv[10:]

# Seconds since the epoch and a random number, in hexadecimal digits, and their MAC.
SAID, WORD = 8 + 32, 8 + 32 + 64
# As long as a credential of munge counts, without whose clocks there would be no job. Seconds.
VALID = 300
# Connections that have not said it: so many, and so long. Seconds.
STRANGERS, PATIENCE = 256, 2


def listening():
    try:
        # Without SO_REUSEADDR and SO_REUSEPORT nobody else gets this port at any address of the node.
        server, any_address = socket.socket(socket.AF_INET6), "::"
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    except OSError:
        server, any_address = socket.socket(), "0.0.0.0"
    start = int.from_bytes(os.urandom(4), "big")
    # 0: any port, from the kernel.
    for port in [FIRST_PORT + (start + n) % PORTS for n in range(PORTS)] + [0]:
        try:
            server.bind((any_address, port))
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == 0:
                raise
    server.listen(4096)
    server.setblocking(False)
    return server


with open(KEY_FILE, "rb") as file:
    KEY = file.read()
SERVER = listening()
PORT = SERVER.getsockname()[1]
EVENTS = select.epoll()
EVENTS.register(SERVER, select.EPOLLIN)
# By descriptor, the oldest first: connection, what it has said, and when it has to go.
strangers = {}
# Words that have been said and would still count, with their time.
said_before = {}
# Processes of sshd.
connections = set()


def is_of_owner(word):
    said, mac = word[:SAID], word[SAID:]
    expected = hmac.new(KEY, b"%d %s" % (PORT, said), "sha256").hexdigest().encode()
    if not hmac.compare_digest(mac, expected):
        return False
    now, then = time.time(), int(said[:8], 16)
    for old in [old for old, at in said_before.items() if at + VALID < now]:
        del said_before[old]
    if abs(now - then) > VALID or said in said_before:
        return False
    said_before[said] = then
    return True


def drop(descriptor):
    connection = strangers.pop(descriptor)[0]
    # Nothing of it stays in the kernel.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def accept():
    try:
        connection, _ = SERVER.accept()
    except BlockingIOError:
        return
    except OSError:
        # No descriptor is left, or the connection has gone.
        for descriptor in list(strangers)[:1]:
            drop(descriptor)
        return
    # The owner says the word at once: it is the strangers who wait.
    if len(strangers) == STRANGERS:
        drop(next(iter(strangers)))
    connection.setblocking(False)
    strangers[connection.fileno()] = connection, b"", time.monotonic() + PATIENCE
    EVENTS.register(connection, select.EPOLLIN)
    read_token(connection.fileno())


def read_token(descriptor):
    connection, word, until = strangers[descriptor]
    try:
        more = connection.recv(WORD - len(word))
    except BlockingIOError:
        return
    except OSError:
        more = b""
    word += more
    if more and len(word) < WORD:
        strangers[descriptor] = connection, word, until
    elif more and is_of_owner(word):
        del strangers[descriptor]
        serve(connection)
    else:
        drop(descriptor)


def serve(connection):
    # The copy of the child would keep it there.
    EVENTS.unregister(connection)
    connection.setblocking(True)
    try:
        process = os.fork()
    except OSError:
        # A limit of the job, which is its owner's.
        process = -1
    if process == 0:
        try:
            os.setsid()
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
            os.execv(SSHD[0], SSHD)
        finally:
            os._exit(1)
    if process > 0:
        connections.add(process)
    connection.close()


def is_awaited():
    # A login that has found this job, and is not connected yet. A killed one leaves its file.
    try:
        return any(time.time() - one.stat().st_mtime < LOGIN_SECONDS for one in os.scandir(LOGINS))
    except OSError:
        return False


with open(PORT_FILE + ".new", "w") as file:
    print(PORT, file=file)
os.rename(PORT_FILE + ".new", PORT_FILE)
started = last_use = time.monotonic()
is_used = False
while True:
    for descriptor, _ in EVENTS.poll(1):
        if descriptor == SERVER.fileno():
            accept()
        elif descriptor in strangers:
            read_token(descriptor)
    now = time.monotonic()
    while strangers and next(iter(strangers.values()))[2] < now:
        drop(next(iter(strangers)))
    grace = 0 if now - started >= SOFT else GRACE
    if connections:
        last_use, is_used = now, True
    elif now - last_use >= (grace if is_used else FIRST_SECONDS) and not is_awaited():
        sys.exit()
    while connections:
        process, _ = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            break
        connections.remove(process)
