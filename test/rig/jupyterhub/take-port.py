"""Takes the port of somebody else's server as soon as it can, and shows what it has been sent there. Arguments: PORT, SECONDS to try.

PORT may be the path of a socket.

With TLS it has a certificate of its own. Prints a line once it listens, and at the end of its input all that clients sent.
"""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

port, seconds = sys.argv[1], float(sys.argv[2])
pair = tempfile.NamedTemporaryFile().name
make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=notebook", "-keyout", pair, "-out", pair]
subprocess.run(make, check=True, stderr=subprocess.DEVNULL)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(pair)
received = []


def serve(connection):
    connection.settimeout(5)
    try:
        if connection.recv(1, socket.MSG_PEEK) == b"\x16":
            connection = context.wrap_socket(connection, server_side=True)
        received.append(connection.recv(65536).decode("latin-1"))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken")
    except OSError as error:
        received.append(str(error))
    finally:
        connection.close()


def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


def listen_at_path():
    """Whether the socket could be replaced."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        if os.path.lexists(port):
            os.unlink(port)
        listener.bind(port)
        os.chmod(port, 0o777)
        listener.listen(64)
    except OSError:
        return False
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    return True


def listen():
    """Whether the port could be had at some address."""
    if not port.isdigit():
        return listen_at_path()
    had = False
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET6, "::1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1")):
        listener = socket.socket(family)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind((address, int(port)))
            listener.listen(64)
        except OSError:
            listener.close()
            continue
        had = True
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
    return had


end = time.monotonic() + seconds
while not (had := listen()) and time.monotonic() < end:
    time.sleep(0.01)
print("listening" if had else "in use", flush=True)
sys.stdin.read()
print(json.dumps(received))
