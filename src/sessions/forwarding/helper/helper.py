# The half of forwarding that runs in the pod. Python 3.6, standard library only.
#
# The login node sends this text at the beginning of standard input, after listeners.py and after the line
# that sets ROOM and MOST_PLACES (limits.ts). The program ends when its standard input ends.
#
# It reads and writes the frames of protocol/frames.ts. Control messages that it receives:
#   begin    create the session's sockets: `directory`, `agent`, and `x11` with `display` and `cookie` (base64)
#   mirror   listen on these endpoints of the login node; `turn` is repeated in the answer. After the first
#            one it also reports what listens in the pod.
#   flush    answer when everything written in the pod so far has been sent
# Control messages that it sends:
#   ready      the sockets exist; `display` is the display number in the pod
#   mirrored   `turn`, and the endpoints that are already `taken`
#   listening  the endpoints that listen in the pod
#   flushed    the answer to flush
import base64, errno, json, os, select, shutil, socket, struct, time
OPEN, DATA, END, CLOSE, WINDOW, WORD = range(6)
PIECE = 65536
poller = select.poll()
watched, streams, mirrors = {}, {}, {}
directory, looking, flushing, said, last, keen, number = None, False, False, None, 0.0, 0.0, 1
os.umask(0o077)

def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]

def send(kind, id, payload=b''):
    put(struct.pack('!BII', kind, id, len(payload)) + payload)

def say(**word):
    send(WORD, 0, json.dumps(word).encode())

def watch(sock, events, call):
    fd = sock.fileno()
    if events:
        watched[fd] = call
        poller.register(fd, events)
    elif watched.pop(fd, None):
        poller.unregister(fd)

class Stream:
    def __init__(self, id, sock, connecting):
        self.id, self.sock, self.connecting = id, sock, connecting
        self.credit, self.out, self.sent, self.heard = ROOM, bytearray(), False, False
        streams[id] = self
        sock.setblocking(False)
        self.update()

    def update(self):
        events = select.POLLOUT if self.out or self.connecting else 0
        if self.credit > 0 and not self.sent and not self.connecting:
            events |= select.POLLIN
        watch(self.sock, events, self.ready)

    def ready(self, events):
        try:
            if self.connecting:
                failed = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if failed:
                    raise OSError(failed, 'connect')
                self.connecting = False
                if not self.out:
                    self.finish()
            if self.out:
                self.flush()
            if self.credit > 0 and not self.sent and events & ~select.POLLOUT:
                self.read()
            if self.id in streams:
                self.update()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.over(True)

    def read(self):
        data = self.sock.recv(min(PIECE, self.credit))
        if data:
            self.credit -= len(data)
            send(DATA, self.id, data)
        else:
            self.sent = True
            send(END, self.id)
            self.finish()

    def flush(self):
        try:
            count = self.sock.send(self.out)
        except (BlockingIOError, InterruptedError):
            return
        del self.out[:count]
        if not self.heard:
            send(WINDOW, self.id, struct.pack('!I', count))
        self.finish()

    def take(self, kind, payload):
        try:
            if kind == DATA:
                self.out += payload
                if not self.connecting:
                    self.flush()
            elif kind == END:
                self.heard = True
                self.finish()
            elif kind == WINDOW:
                self.credit += struct.unpack('!I', payload)[0]
            else:
                self.over(False)
            if self.id in streams:
                self.update()
        except OSError:
            self.over(True)

    def finish(self):
        if self.heard and not self.out and not self.connecting:
            if self.sent:
                self.over(False)
            else:
                self.sock.shutdown(socket.SHUT_WR)

    def over(self, tell):
        if streams.pop(self.id, None):
            watch(self.sock, 0, None)
            self.sock.close()
            if tell:
                send(CLOSE, self.id)

def connect(id, target):
    if target.startswith('unix:'):
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        if sock.connect_ex(target[5:]) == 0:
            Stream(id, sock, False)
        else:
            sock.close()
            send(CLOSE, id)
        return
    port = int(target[4:])
    for family, address in listening_addresses(port):
        sock = socket.socket(family)
        sock.setblocking(False)
        failed = sock.connect_ex((address, port))
        if failed in (0, errno.EINPROGRESS):
            return Stream(id, sock, failed != 0)
        sock.close()
    send(CLOSE, id)

def serve(sock, target):
    sock.listen(64)
    sock.setblocking(False)
    def ready(events):
        global number
        try:
            peer = sock.accept()[0]
        except OSError:
            return
        send(OPEN, number, target.encode())
        Stream(number, peer, False)
        number += 2
    watch(sock, select.POLLIN, ready)
    return sock

def end_mirror(place):
    for sock in mirrors.pop(place):
        watch(sock, 0, None)
        sock.close()
    if place.startswith('unix:') and os.path.exists(place[5:]):
        os.unlink(place[5:])

def mirror(places, turn):
    for place in set(mirrors) - set(places):
        end_mirror(place)
    for place in places:
        if place not in mirrors:
            made = loopback(int(place[4:])) if place.startswith('tcp:') else at_path(place[5:])
            if made:
                mirrors[place] = [serve(sock, place) for sock in made]
    say(mirrored=turn, taken=[place for place in places if place not in mirrors])

def begin(word):
    global directory
    ready = {}
    os.mkdir(word['directory'], 0o700)
    directory = word['directory']
    if word['agent']:
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(directory + '/agent')
        serve(sock, 'agent')
    if word.get('x11'):
        for display in range(word['x11']['display'], 100):
            made = loopback(6000 + display)
            if made:
                for sock in made:
                    serve(sock, 'x11')
                ready['display'] = display
                name = str(display).encode()
                cookie = base64.b64decode(word['x11']['cookie'])
                entry = struct.pack('!HHH', 65535, 0, len(name)) + name + cookie
                with open(directory + '/Xauthority', 'wb') as file:
                    file.write(entry)
                break
    say(ready=ready)

def handle_message(word):
    global keen, looking, flushing
    keen = time.monotonic() + 20
    if 'begin' in word:
        begin(word['begin'])
    elif 'mirror' in word:
        looking = True
        mirror(word['mirror'], word['turn'])
    elif 'flush' in word:
        flushing = True

def report():
    global said, last, keen
    last = time.monotonic()
    look()
    places = sorted({'tcp:%d' % p for a, p in table}) + sorted(set(unix_paths()))
    places = [place for place in places if place not in mirrors][:MOST_PLACES]
    if places != said:
        said, keen = places, last + 20
        say(listening=places)

def main():
    global flushing
    rest = bytearray()
    poller.register(0, select.POLLIN)
    while True:
        pace = 0.2 if time.monotonic() < keen else 1
        wait = None if not looking else max(0, last + pace - time.monotonic()) * 1000
        ready = poller.poll(0 if flushing else wait)
        if flushing and not ready:
            flushing = False
            say(flushed=True)
        for fd, events in ready:
            if fd != 0:
                call = watched.get(fd)
                if call:
                    call(events)
                continue
            data = os.read(0, 1 << 18)
            if not data:
                return
            rest += data
            at = 0
            while len(rest) - at >= 9:
                kind, id, size = struct.unpack_from('!BII', rest, at)
                if len(rest) - at < 9 + size:
                    break
                payload = bytes(rest[at + 9:at + 9 + size])
                at += 9 + size
                if kind == WORD:
                    handle_message(json.loads(payload.decode()))
                elif kind == OPEN:
                    connect(id, payload.decode())
                elif id in streams:
                    streams[id].take(kind, payload)
            del rest[:at]
        if looking and time.monotonic() >= last + pace:
            report()

try:
    main()
except (BrokenPipeError, KeyboardInterrupt):
    pass
finally:
    for place in list(mirrors):
        end_mirror(place)
    if directory:
        shutil.rmtree(directory, True)
