import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  endProcesses,
  signalProcess,
  type SignalTarget,
} from '../../../src/system/end-processes.ts';
import { processStartTime, procStatFields } from '../../../src/system/process-start.ts';
import { endedFirstThread } from '../../rig/login-node/ended-first-thread.ts';
import {
  processArguments,
  fileId,
  isRunning,
  parentPid,
  executableId,
  runningProcesses,
  hasInitialVariable,
} from '../../../src/system/processes.ts';

const threadsOf = (pid: number): readonly number[] => readdirSync(`/proc/${pid}/task`).map(Number);

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function shell(script: string): Promise<SignalTarget> {
  const child = spawn('/bin/sh', ['-c', script.replace('READY', 'echo ready')], {
    env: { MARK: 'one two', PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  return { pid, start: processStartTime(pid) ?? '', uid: process.getuid?.() ?? -1 };
}

describe('a listing of /proc', () => {
  it('tells whose child it is, what it runs and what it was started with', async () => {
    const { pid } = await shell('READY; exec sleep 100');
    await expect.poll(() => processArguments(pid)).toEqual(['sleep', '100']);
    expect(parentPid(pid)).toBe(process.pid);
    expect(executableId(pid)).toBe(fileId('/usr/bin/sleep'));
    expect(hasInitialVariable(pid, 'MARK=one two')).toBe(true);
    expect(hasInitialVariable(pid, 'MARK=one')).toBe(false);
    const found = [...runningProcesses()].find((one) => one.pid === pid);
    expect(found).toMatchObject({ pid, uid: process.getuid?.(), parent: process.pid });
    expect(found?.pids[0]).toBe(pid);
  });

  it('knows a process whose first thread has ended, by another one', async () => {
    const script = endedFirstThread('/dev/null').replace('setsid ', '').replace(' &', '');
    const { pid } = await shell(`READY; exec ${script}`);
    await expect.poll(() => procStatFields(pid)?.[0]).toBe('Z');
    const found = [...runningProcesses()].find(
      ({ parent, pids }) =>
        parent === process.pid && pids[0] !== pid && threadsOf(pid).includes(pids[0] ?? 0),
    );
    expect(found).toMatchObject({ uid: process.getuid?.() });
    const { pid: thread = 0 } = found ?? {};
    expect(executableId(thread)).toBe(fileId('/usr/bin/python3'));
    expect(hasInitialVariable(thread, 'MARK=one two')).toBe(true);
    expect(processStartTime(pid)).toBeDefined();
    const { left } = await endProcesses(
      () => [...runningProcesses()].filter((one) => one.pid === thread),
      [['SIGKILL', 5_000]],
    );
    expect([left, isRunning({ pid, start: processStartTime(pid) ?? '' })]).toEqual([[], false]);
  });

  it('tells a process from a later one with the same PID', async () => {
    const id = await shell('READY; exec sleep 100');
    expect(isRunning(id)).toBe(true);
    expect(isRunning({ ...id, start: '1' })).toBe(false);
    signalProcess({ ...id, start: '1' }, 'SIGKILL');
    expect(isRunning(id)).toBe(true);
  });

  it('signals none that is another user’s by now, not the first process, and no group', async () => {
    const id = await shell('READY; exec sleep 100');
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    signalProcess({ ...id, uid: id.uid + 1 }, 'SIGKILL');
    const first = { start: processStartTime(1) ?? '', uid: 0 };
    for (const pid of [1, 0, -1, -id.pid, Number.NaN]) signalProcess({ ...first, pid }, 'SIGKILL');
    expect(kill).not.toHaveBeenCalled();
    signalProcess(id, 'SIGKILL');
    expect(kill).toHaveBeenCalledExactlyOnceWith(id.pid, 'SIGKILL');
    kill.mockRestore();
  });

  it('says nothing of one that is gone', () => {
    expect(parentPid(2 ** 22 + 1)).toBeUndefined();
    expect(executableId(2 ** 22 + 1)).toBeUndefined();
    expect(processArguments(2 ** 22 + 1)).toEqual([]);
  });
});

describe('ending processes', () => {
  const steps = [
    ['SIGHUP', 100],
    ['SIGTERM', 100],
    ['SIGKILL', 2_000],
  ] as const;
  const whileRunning =
    (...ids: SignalTarget[]) =>
    (): SignalTarget[] =>
      ids.filter(isRunning);

  it('is done at once if SIGHUP is enough', async () => {
    const id = await shell('READY; exec sleep 100');
    const before = performance.now();
    expect(await endProcesses(whileRunning(id), [['SIGHUP', 5_000]])).toEqual({
      ended: [id],
      left: [],
    });
    expect(performance.now() - before).toBeLessThan(4_000);
  });

  it('ends a process that ignores all signals but SIGKILL, and a stopped one', async () => {
    const stubborn = await shell(`trap '' HUP TERM; READY; while :; do sleep 0.05; done`);
    const stopped = await shell('READY; kill -STOP $$; sleep 100');
    const ended = await endProcesses(whileRunning(stubborn, stopped), steps);
    expect(ended).toEqual({ ended: [stubborn, stopped], left: [] });
  });

  it('meets those that come while it is at work', async () => {
    const first = await shell('READY; exec sleep 100');
    let second: SignalTarget | undefined;
    const coming = shell('READY; exec sleep 100').then((id) => (second = id));
    const find = (): SignalTarget[] =>
      whileRunning(first, ...(second === undefined ? [] : [second]))();
    await coming;
    expect(await endProcesses(find, steps)).toEqual({ ended: [first, second], left: [] });
  });

  it('gives up in time, and says so', async () => {
    const id = await shell(`trap '' HUP; READY; while :; do sleep 0.05; done`);
    expect(await endProcesses(whileRunning(id), [['SIGHUP', 100]])).toEqual({
      ended: [],
      left: [id],
    });
  });
});
