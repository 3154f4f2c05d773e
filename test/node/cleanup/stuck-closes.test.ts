import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stuckProcesses } from '../../../src/login/cleanup/gone-connections.ts';
import { processStartTime } from '../../../src/system/process-start.ts';
import { waitFor } from '../../rig/wait-for.ts';

/** Takes the part of sshd's monitor, with a child that takes the part of PAM's hook. */
async function startMonitor(type: string) {
  const monitor = execa({ reject: false })`sh -c ${`PAM_TYPE=${type} sleep 1000 & wait`}`;
  const pid = monitor.pid ?? 0;
  const what = { what: 'the hook', timeoutMs: 10_000 };
  const child = await waitFor(what, async () => {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const environment =
      children === '' ? '' : await readFile(`/proc/${Number(children)}/environ`, 'utf8');
    return environment.includes('PAM_TYPE=') ? Number(children) : undefined;
  });
  onTestFinished(() => {
    process.kill(child, 'SIGKILL');
    monitor.kill('SIGKILL');
  });
  return { pid, child, start: processStartTime(pid) ?? '' };
}

const pidsAfter = (monitor: { pid: number; start: string }, minutes: number): number[] =>
  stuckProcesses(monitor, Date.now() + minutes * 60_000).map(({ pid }) => pid);

describe('a connection whose sshd still runs', () => {
  it('is stuck when PAM closes it for longer than a close can take', async () => {
    const monitor = await startMonitor('close_session');
    expect(pidsAfter(monitor, 3)).toEqual([]);
    expect(pidsAfter(monitor, 5)).toEqual([monitor.child, monitor.pid]);
  });

  it('is not stuck while PAM opens it', async () => {
    expect(pidsAfter(await startMonitor('open_session'), 60)).toEqual([]);
  });

  it('is stuck when its sshd is stopped', async () => {
    const monitor = await startMonitor('open_session');
    process.kill(monitor.pid, 'SIGSTOP');
    await waitFor({ what: 'the stop', timeoutMs: 10_000 }, () =>
      Promise.resolve(pidsAfter(monitor, 0).length > 0 ? true : undefined),
    );
    expect(pidsAfter(monitor, 0)).toEqual([monitor.pid]);
  });
});

it('a close that takes minutes is killed', async () => {
  const file = new URL('../../../src/login/cleanup/close-queue.sh', import.meta.url);
  const [, script = ''] = /^at_low_priority='$(.*?)'$/ms.exec(await readFile(file, 'utf8')) ?? [];
  const quick = script.replaceAll('timeout 60', 'timeout 0.5');
  expect(quick).not.toBe(script);
  const close = await execa('sh', ['-c', quick, 'sh', 'sleep', '100'], { reject: false });
  expect(close.signal).toBe('SIGKILL');
});
