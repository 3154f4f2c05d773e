import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { processArguments, runningProcesses } from '../../../src/system/processes.ts';

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
