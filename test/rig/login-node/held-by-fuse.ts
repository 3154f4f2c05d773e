import { ownFuse } from './own-fuse.ts';

/**
 * A Python program for a container with /dev/fuse: it mounts a FUSE file system in namespaces of its own, whose server is
 * gone while a process waits for its answer and holds it open. That process survives SIGKILL. It prints `held PID`. With the argument
 * `detached` it unmounts the file system lazily before.
 */
export const heldByFuse = String.raw`${ownFuse}
own_namespaces()
fuse = mount_fuse('/tmp/held', 0o40000)
waiting = os.fork()
if waiting == 0:
    os.setsid()
    os.dup2(os.open('/dev/null', os.O_RDWR), 1)
    try: os.stat('/tmp/held/file')
    finally: os._exit(0)
while True:
    request = os.read(fuse, 1 << 17)
    length, operation, unique = struct.unpack_from('<IIQ', request)
    if operation != 26: break
    body = initialized
    answer_to(fuse, unique, body)
# It is in nobody's list of mounts then.
if 'detached' in sys.argv: check(libc.umount2(b'/tmp/held', 2))
print('held', waiting, flush=True)
`;
