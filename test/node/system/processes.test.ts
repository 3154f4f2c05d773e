import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { userProcesses } from '../../../src/sessions/backends/podman/user-processes.ts';
import { runningSshds } from '../../../src/setup/sshd-kinds/running-sshds.ts';
import {
  executableId,
  fileId,
  mountLines,
  processArguments,
  runningProcesses,
} from '../../../src/system/processes.ts';

const [uid, other] = [54_321, 54_322];
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts sleep(1), or another program, with these UIDs. @returns its PID */
async function startWith(
  { real, effective }: { readonly real: number; readonly effective: number },
  argv: readonly string[] = ['/usr/bin/sleep', '100'],
): Promise<number> {
  const uids = ['--ruid', String(real), '--euid', String(effective), '--clear-groups'];
  const child = spawn('setpriv', [...uids, ...argv], { stdio: 'ignore' });
  children.push(child);
  const pid = child.pid ?? 0;
  await expect.poll(() => processArguments(pid)[0]).toBe(argv[0]);
  return pid;
}

function pidsOf(wanted: number): number[] {
  return [...runningProcesses((one) => one === wanted)].map(({ pid }) => pid);
}

/** PR_SET_DUMPABLE: the files in /proc/PID are root's, but /proc/PID is not. */
const undumpableScript = 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); time.sleep(100)';

it('finds processes by their real UID: also of setuid programs of root, and those that may not be dumped', async () => {
  const own = await startWith({ real: uid, effective: uid });
  const python = ['/usr/bin/python3', '-c', undumpableScript];
  const undumpable = await startWith({ real: uid, effective: uid }, python);
  await expect.poll(() => statSync(`/proc/${undumpable}/status`).uid).toBe(0);
  const setuid = await startWith({ real: uid, effective: 0 });
  const others = await startWith({ real: other, effective: other });
  const roots = await startWith({ real: 0, effective: uid });
  expect(new Set(pidsOf(uid))).toEqual(new Set([own, undumpable, setuid]));
  expect(pidsOf(other)).toEqual([others]);
  expect(pidsOf(0)).toContain(roots);
});

/** A program in Python that gives itself a name (PR_SET_NAME). */
const named = (name: string): string =>
  `import ctypes, time; ctypes.CDLL(None).prctl(15, ${JSON.stringify(name)}.encode(), 0, 0, 0); time.sleep(100)`;
const nameOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, 'latin1');

it.each(['\rUid:\t0', 'x\rUid:\t54322', '\u2028Uid:\t0'])(
  'a process whose name is %j has the UID that the kernel says',
  async (name) => {
    const pid = await startWith({ real: uid, effective: uid }, [
      '/usr/bin/python3',
      '-c',
      named(name),
    ]);
    await expect.poll(() => nameOf(pid)).toContain('Uid');
    expect(pidsOf(uid)).toContain(pid);
    expect(pidsOf(other)).not.toContain(pid);
    expect(pidsOf(0)).not.toContain(pid);
    expect(runningSshds().map((one) => one.pid)).not.toContain(pid);
  },
);

it.each(['sh', 'bash'])(
  "%s reads a process's state in a pod, whatever its name has",
  async (shell) => {
    const argv = ['/usr/bin/python3', '-c', named('a) Z \n')];
    const pid = await startWith({ real: uid, effective: uid }, argv);
    await expect.poll(() => nameOf(pid)).toContain('Z');
    const script = new URL('../../../src/sessions/backends/pod/objects/proc.sh', import.meta.url);
    const { stdout } = spawnSync(
      shell,
      ['-c', `${readFileSync(script, 'utf8')}\nfacts "$0" && echo "$state $parent"`, String(pid)],
      { encoding: 'utf8' },
    );
    expect(stdout).toMatch(new RegExp(`^[RS] ${process.pid}\n$`));
  },
);

/** Bytes that this process has read so far, proc_pid_io(5). */
const bytesRead = (): number =>
  Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1]);

it('reads little of the mounts of a user who has made thousands, and knows programs all the same', async () => {
  // The program that they run is on the last of them.
  const script = `set -e; mount -t tmpfs tmpfs /mnt; mkdir /mnt/a
    for n in $(seq 3000); do echo "mount -n -t tmpfs $(printf %0100d 0) /mnt/a"; done >/mnt/all
    sh /mnt/all; touch /mnt/a/sleep; mount --bind /usr/bin/sleep /mnt/a/sleep
    exec /mnt/a/sleep 100`;
  const child = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: 'inherit' });
  children.push(child);
  const pid = child.pid ?? 0;
  await expect.poll(() => processArguments(pid)[0], { timeout: 60_000 }).toBe('/mnt/a/sleep');
  expect(statSync(`/proc/${pid}`).uid).toBe(0);
  expect([...mountLines(pid)].length).toBeGreaterThan(3000);

  const before = bytesRead();
  const ids = Array.from({ length: 200 }, () => executableId(pid));
  expect(bytesRead() - before).toBeLessThan(40 * 1024 * 1024);
  expect(ids[0]).toBe(fileId('/usr/bin/sleep'));
  // One that cannot be told any more is none of those that Berth looks for.
  expect(ids.at(-1)).toBeUndefined();
  const own = await startWith({ real: uid, effective: uid });
  expect(executableId(own)).toBe(fileId('/usr/bin/sleep'));
}, 90_000);

it('reads little of the mounts of a user whose processes have many subordinate UIDs', async () => {
  const [first, count] = [400_000, 24];
  const script = `set -e; mount -t tmpfs tmpfs /mnt; mkdir /mnt/a; chmod 755 /mnt /mnt/a
    for n in $(seq 3000); do echo "mount -n -t tmpfs -o mode=755 $(printf %0100d 0) /mnt/a"; done >/mnt/all
    sh /mnt/all; touch /mnt/a/sleep; mount --bind /usr/bin/sleep /mnt/a/sleep
    for n in $(seq ${first} ${first + count - 1}); do
      setpriv --reuid $n --regid $n --clear-groups /mnt/a/sleep 100 &
    done; wait`;
  const child = spawn('unshare', ['--mount', 'sh', '-c', script], { detached: true });
  try {
    const owner = {
      uid: 54_323,
      subordinate: [{ start: first, count }],
      directory: '/',
      podman: '/usr/bin/sleep',
      pausePid: undefined,
    };
    const programs = (): (string | undefined)[] =>
      [...runningProcesses((one) => one >= first && one < first + count)].map(
        ({ pid }) => processArguments(pid)[0],
      );
    await expect
      .poll(programs, { timeout: 60_000 })
      .toEqual(Array<string>(count).fill('/mnt/a/sleep'));
    const before = bytesRead();
    for (let look = 0; look < 10; look += 1) expect(userProcesses(owner)).toHaveLength(count);
    expect(bytesRead() - before).toBeLessThan(60 * 1024 * 1024);
  } finally {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  }
}, 90_000);
