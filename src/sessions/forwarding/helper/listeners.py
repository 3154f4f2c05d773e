# Which TCP ports of the pod's loopback and which Unix sockets directly below /tmp accept connections, and how
# to listen on such an endpoint. The first part of the helper: see helper.py.
import errno, os, socket, struct
ANY = {socket.inet_pton(socket.AF_INET, a) for a in ('0.0.0.0', '127.0.0.1')}
ANY |= {socket.inet_pton(socket.AF_INET6, a) for a in ('::', '::1', '::ffff:127.0.0.1')}
V6 = {socket.inet_pton(socket.AF_INET6, a) for a in ('::', '::1')}
NAMES = set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+@-')
table = []

def by_netlink(family):
    # sock_diag(7): only what listens is looked at; /proc/net/tcp goes through all of the node.
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as diag:
        diag.settimeout(2)
        request = struct.pack('=BBBBI', family, 6, 0, 0, 1 << 10) + bytes(48)
        diag.send(struct.pack('=IHHII', 16 + len(request), 20, 0x301, 1, 0) + request)
        while True:
            data = diag.recv(1 << 18)
            while data:
                size, kind = struct.unpack_from('=IH', data)
                if kind == 3:
                    return
                if kind == 2:
                    raise OSError('sock_diag')
                width = 4 if data[16] == socket.AF_INET else 16
                port = struct.unpack_from('!H', data, 20)[0]
                yield data[24:24 + width], port, struct.unpack_from('=I', data, 80)[0]
                data = data[(size + 3) & ~3:]

def by_proc(family):
    with open('/proc/net/tcp' if family == socket.AF_INET else '/proc/net/tcp6') as lines:
        next(lines)
        for line in lines:
            part = line.split()
            if part[3] != '0A':
                return
            words, port = part[1].split(':')
            raw = bytes.fromhex(words)
            address = b''.join(raw[i:i + 4][::-1] for i in range(0, len(raw), 4))
            yield address, int(port, 16), int(part[7])

def look():
    global table
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for source in (by_netlink, by_proc):
            try:
                found += list(source(family))
                break
            except OSError:
                pass
    table = [(a, p) for a, p, uid in found if a in ANY and uid == os.getuid()]

def listening_addresses(port):
    # Others of the node may listen on the other address: 127.0.0.1 is the last choice for a socket of ::, which
    # serves both, but where there is no ::1.
    look()
    own = {a for a, p in table if p == port}
    v4, v6 = (socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')
    if own - V6:
        yield v4
    if own & V6:
        yield v6
    if own and not own - V6:
        yield v4

def unix_paths():
    with open('/proc/net/unix', errors='replace') as lines:
        for line in lines:
            part = line.split(None, 7)
            if len(part) == 8 and part[3:5] == ['00010000', '0001']:
                path = part[7].rstrip('\n')
                name = path[5:]
                if path.startswith('/tmp/') and 0 < len(name) <= 64 and not set(name) - NAMES and is_own(path):
                    yield 'unix:' + path

def is_own(path):
    try:
        return os.lstat(path).st_uid == os.getuid()
    except OSError:
        return False

def loopback(port):
    made = []
    for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
        sock = None
        try:
            sock = socket.socket(family)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
            made.append(sock)
        except OSError as error:
            if sock:
                sock.close()
            if error.errno in (errno.EADDRINUSE, errno.EACCES) or family == socket.AF_INET:
                for other in made:
                    other.close()
                return None
    return made

def at_path(path):
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.bind(path)
        return [sock]
    except OSError:
        sock.close()
