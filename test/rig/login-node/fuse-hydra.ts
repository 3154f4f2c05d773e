import { ownFuse } from './own-fuse.ts';

/**
 * A Python program for a container with /dev/fuse, which forks itself ten times in a second and ignores SIGHUP and SIGTERM. When `~/go`
 * exists, each generation leaves a process that lets nobody look at it (`execOnFuse`), for 38 seconds. It appends a line to `~/life`
 * for each, and prints `ready`.
 */
export const fuseHydra = String.raw`${ownFuse}
import select, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
own_namespaces()
home = os.environ['HOME']
life = os.open(home + '/life', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
def attributes(inode, mode): return struct.pack('<6Q10I', inode, *[0] * 8, mode, 1, *[0] * 3, 4096, 0)
answers = {
    26: initialized,
    1: struct.pack('<4Q2I', 2, *[0] * 5) + attributes(2, 0o100777),
    3: struct.pack('<Q2I', 0, 0, 0) + attributes(1, 0o40777),
    14: struct.pack('<Q2I', 1, 0, 0),
}
kept = []
def hold(place):
    fuse = mount_fuse(place, 0o40000)
    kept.append(fuse)
    if os.fork() == 0:
        try:
            os.setsid()
            os.open(place + '/file', os.O_RDONLY)
            os.execv('/bin/sleep', ['sleep', '50'])
        finally: os._exit(0)
    end = time.time() + 1
    while time.time() < end:
        if not select.select([fuse], [], [], 0.2)[0]: continue
        length, operation, unique = struct.unpack_from('<IIQ', os.read(fuse, 1 << 18))
        if operation == 25: return
        if operation in answers: answer_to(fuse, unique, answers[operation])
print('ready', flush=True)
if os.fork(): os._exit(0)
os.setsid()
null = os.open('/dev/null', os.O_RDWR)
for one in 0, 1, 2: os.dup2(null, one)
end = time.time() + 120
while not os.path.exists(home + '/go') and time.time() < end: time.sleep(0.05)
end = time.time() + 38
generation = 0
while time.time() < end:
    generation += 1
    try: hold(f'/tmp/silent{generation}')
    except OSError: pass
    os.write(life, f'{generation}\n'.encode())
    time.sleep(0.1)
    if os.fork(): os._exit(0)
`;
