import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { SshHost } from './ssh-host.ts';

/**
 * A Python program that mounts a file system which lets root in and never answers, with fusermount3 as any user can where /etc/fuse.conf has
 * `user_allow_other`, over the directory that is its argument. It prints `silent`, then the UID of who asks something.
 */
const silentMount = String.raw`
import array, os, socket, struct, subprocess, sys
ours, theirs = socket.socketpair()
options = ['-o', 'allow_other', '--', sys.argv[1]]
environment = dict(os.environ, _FUSE_COMMFD=str(theirs.fileno()))
mounting = subprocess.Popen(['fusermount3', *options], env=environment, pass_fds=[theirs.fileno()])
_, [(_, _, descriptor)], *_ = ours.recvmsg(1, socket.CMSG_SPACE(4))
mounting.wait()
[fuse] = array.array('i', descriptor[:4])
while True:
    request = os.read(fuse, 1 << 17)
    _, operation, unique, _, uid = struct.unpack_from('<IIQQI', request)
    if operation != 26:
        # Not what the kernel asks by itself: to forget, and that somebody waits no more.
        if operation not in (2, 36, 42): print('asked by', uid, flush=True)
        continue
    body = struct.pack('<IIIIHHIIHH', 7, 31, 65536, 0, 1, 1, 65536, 1, 0, 0).ljust(64, b'\0')
    os.write(fuse, struct.pack('<IiQ', 16 + len(body), 0, unique) + body)
    print('silent', flush=True)
`;

/** Mounts one over a directory of the user. @returns reads the UIDs of those who have asked it something so far */
export async function mountSilently(
  host: SshHost,
  user: string,
  directory: string,
): Promise<() => Promise<readonly number[]>> {
  const { home } = host.account(user);
  const start = `cat >silent.py; rm -f silent.out
    setsid python3 silent.py ${directory} >silent.out 2>&1 </dev/null &
    until grep -qs silent silent.out; do sleep 0.1; done`;
  const { exitCode, stderr } = await host.asUser(user, ['timeout', '30', 'sh', '-c', start], {
    input: silentMount,
  });
  expect(exitCode, stderr).toBe(0);
  return async () => {
    const text = await readFile(host.path(`${home}/silent.out`), 'utf8');
    return Array.from(text.matchAll(/asked by (\d+)/g), ([, uid]) => Number(uid));
  };
}
