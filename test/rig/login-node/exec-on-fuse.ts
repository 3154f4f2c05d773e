import { ownFuse } from './own-fuse.ts';

/**
 * A Python program for a container with /dev/fuse: its child executes a program while it holds open, close-on-exec, a file of a FUSE file
 * system that does not answer FLUSH. Linux holds the child's `exec_update_lock` meanwhile, for which everybody waits who reads `stat`,
 * `environ` or `exe` of it in /proc. It prints `silent`.
 */
export const execOnFuse = String.raw`${ownFuse}
own_namespaces()
fuse = mount_fuse('/tmp/silent', 0o40000)
if os.fork() == 0:
    os.close(fuse)
    os.setsid()
    os.dup2(os.open('/dev/null', os.O_RDWR), 1)
    file = os.open('/tmp/silent/file', os.O_RDONLY)
    os.execv('/bin/sleep', ['sleep', '1000'])
def attributes(inode, mode): return struct.pack('<6Q10I', inode, *[0] * 8, mode, 1, *[0] * 3, 4096, 0)
answers = {
    26: initialized,
    1: struct.pack('<4Q2I', 2, *[0] * 5) + attributes(2, 0o100777),
    3: struct.pack('<Q2I', 0, 0, 0) + attributes(1, 0o40777),
    14: struct.pack('<Q2I', 1, 0, 0),
}
while True:
    length, operation, unique = struct.unpack_from('<IIQ', os.read(fuse, 1 << 18))
    if operation == 25: print('silent', flush=True)
    if operation not in answers: continue
    answer = answers[operation]
    answer_to(fuse, unique, answer)
`;
