/**
 * A Python program for a container with /dev/fuse: it mounts a FUSE file system in namespaces of its own, whose server is
 * gone while a process waits for its answer and holds it open. That process survives SIGKILL. It prints `held PID`. With the argument
 * `detached` it unmounts the file system lazily before.
 */
export const heldByFuse = String.raw`
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result != 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
uid, gid = os.getuid(), os.getgid()
check(libc.unshare(0x10020000))
for name, text in ('setgroups', 'deny'), ('uid_map', f'0 {uid} 1'), ('gid_map', f'0 {gid} 1'):
    with open(f'/proc/self/{name}', 'w') as file: file.write(text)
os.makedirs('/tmp/held', exist_ok=True)
fuse = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'
check(libc.mount(b'held', b'/tmp/held', b'fuse', 0, options.encode()))
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
    body = struct.pack('<IIIIHHIIHH', 7, 31, 65536, 0, 1, 1, 65536, 1, 0, 0).ljust(64, b'\0')
    os.write(fuse, struct.pack('<IiQ', 16 + len(body), 0, unique) + body)
# It is in nobody's list of mounts then.
if 'detached' in sys.argv: check(libc.umount2(b'/tmp/held', 2))
print('held', waiting, flush=True)
`;
