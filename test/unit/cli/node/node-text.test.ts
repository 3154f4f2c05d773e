import { describe, expect, it } from 'vitest';
import { drainedText, statusText, undrainedText } from '../../../../src/cli/node/node-text.ts';
import { keptText, nobodyToldText } from '../../../../src/cli/node/node-wait.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';

const since = Date.UTC(2026, 0, 2, 3, 4, 5) / 1000;
const podman = 'berth-sshd@podman.service';
const drained = {
  ...{ since, by: 'ada', reason: 'new kernel', deadline: since + 7200 },
  units: [{ name: podman, stopped: true, enabled: true }],
};
const counts = { sessions: 2, waitedFor: 1, undrainIncomplete: false };

describe('the status of a node', () => {
  it('shows the state of each listener as systemd says it', () => {
    const units = [
      { name: podman, active: true, state: 'activating', enabled: true },
      { name: 'berth-sshd@shell.service', active: false, state: 'failed', enabled: false },
    ];
    expect(statusText({ ...counts, state: undefined, units })).toBe(
      `not drained\n${podman}: activating, enabled\nberth-sshd@shell.service: failed, not enabled\n` +
        'open sessions: 2 (1 that a drain waits for)\n',
    );
  });

  it('shows who drained it, and the deadline', () => {
    const units = [{ name: podman, active: false, state: 'inactive', enabled: true }];
    expect(statusText({ ...counts, state: drained, units })).toBe(
      'drained since 2026-01-02T03:04:05Z by ada\nreason: new kernel\ndeadline: 2026-01-02T05:04:05Z\n' +
        `${podman}: inactive, enabled\nopen sessions: 2 (1 that a drain waits for)\n`,
    );
  });

  it('without a listener says that it cannot be drained', () => {
    expect(statusText({ ...counts, state: undefined, units: [] })).toContain(
      'no listener: no berth-sshd@ unit; `berth node drain` cannot drain this node\n',
    );
  });
});

describe('a drain', () => {
  it('says how to go on', () => {
    expect(drainedText(drained, { open: 1, waits: false })).toBe(
      `drained: no new connections at ${podman}; open sessions: 1\n` +
        'next: `berth node undrain` takes it back into service; --wait or --deadline waits for the sessions\n',
    );
    expect(drainedText(drained, { open: 0, waits: false })).toMatch(/into service\n$/);
    expect(drainedText(drained, { open: 1, waits: true })).toMatch(/open sessions: 1\n$/);
  });

  it('that cannot read ssh.yml says that nobody was told', () => {
    const error = new BerthError('config-missing', '/etc/berth/ssh.yml is missing', {
      hint: 'Make it.',
    });
    expect(nobodyToldText(error)).toBe(
      'warning: The node is drained, but no session was told: /etc/berth/ssh.yml is missing [config-missing]\n' +
        'next: correct ssh.yml and run the same command again, or `berth node undrain`. Make it.\n',
    );
  });

  it('that leaves sessions says what ends them', () => {
    const next = 'next: `berth reap` tries again; see `berth sessions list`\n';
    expect(keptText(2)).toBe(`2 sessions could not be ended\n${next}`);
    expect(keptText(1)).toBe(`1 session could not be ended\n${next}`);
  });
});

describe('an undrain', () => {
  it('names what it started, and how to start what it did not', () => {
    expect(undrainedText({ wasDrained: true, started: ['a', 'b'], skipped: [podman] })).toEqual({
      out: 'in service again: started a, b\n',
      err: `not started: ${podman}, which was disabled since the drain; to start it: systemctl enable --now ${podman}\n`,
    });
  });

  it('that starts nothing does not say that the node is in service', () => {
    expect(undrainedText({ wasDrained: true, started: [], skipped: [] })).toEqual({
      out: 'no longer drained, but no listener was started: none ran when the drain began\nnext: systemctl start berth-sshd@NAME\n',
      err: '',
    });
    expect(undrainedText({ wasDrained: true, started: [], skipped: [] }, true).out).toBe(
      'would mark the node as not drained; no listener would be started\n',
    );
    expect(undrainedText({ wasDrained: true, started: [], skipped: [podman] }).out).toBe(
      'no longer drained, but no listener was started\n',
    );
    expect(undrainedText({ wasDrained: false, started: [], skipped: [] }).out).toBe(
      'this node is not drained; nothing was done\n',
    );
  });
});
