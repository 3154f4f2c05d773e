import { describe, expect, it } from 'vitest';
import type { OwnSession } from '../../../../src/sessions/backends/own-session.ts';
import {
  profilesAnswer,
  sessionsAnswer,
  statusAnswer,
} from '../../../../src/cli/self-service/answers.ts';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import { sessionsNamed } from '../../../../src/login/self-service/own-sessions.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const container: OwnSession = {
  ...{ name: 'berth-base', profile: 'base', backend: 'podman', state: 'running' },
  ...{ since: now - 3 * 3600_000, connections: 2, end: () => Promise.resolve() },
  ends: { after: 'last-connection', graceMs: 300_000, waitsForProcesses: true },
};
const pod: OwnSession = {
  ...{ ...container, backend: 'pod', cluster: 'c1', connections: undefined },
  ends: { at: now + 60_000 },
};
const job: OwnSession = {
  ...{ ...container, name: 'berth-gpu', profile: 'gpu', backend: 'slurm', state: 'running' },
  connections: undefined,
  job: { id: '17', node: 'node1', secondsLeft: 5400, waits: undefined },
  ends: { after: 'last-connection', graceMs: 0, at: now + 5400_000 },
};
const waiting: OwnSession = {
  ...{ ...job, state: 'pending', since: undefined, ends: { after: 'its-connection' } },
  job: { id: '18', node: '', secondsLeft: undefined, waits: 'Slurm job 18 waits: Priority' },
};
const error = new BerthError('api-unreachable', 'the cluster c2 is away');

describe('the answers to users', () => {
  it('list what runs, and what ends it', () => {
    const { text } = sessionsAnswer(
      { sessions: [container, pod, job, waiting], failed: [error] },
      now,
    );
    const [, ...lines] = text.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '));
    const at = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d';
    expect(lines).toEqual([
      'berth-base | base | podman | running | 3h00m | 2 | 5 min after your last connection and its processes',
      expect.stringMatching(
        new RegExp(`^berth-base \\| base \\| pod c1 \\| running \\| 3h00m \\| - \\| at ${at}$`),
      ),
      expect.stringMatching(
        new RegExp(
          `^berth-gpu \\| gpu \\| slurm 17 .* \\| with your last connection, at the latest at ${at}$`,
        ),
      ),
      'berth-gpu | gpu | slurm 18 | pending | - | - | with its connection',
      '',
    ]);
  });

  it('show the status in tables, without those that are empty', () => {
    const { text } = statusAnswer({
      ...{ jobs: [job, waiting], failed: [] },
      quotas: [{ cluster: 'c1', namespace: 'u-ada', resource: 'pods', used: '1', limit: '5' }],
      credentials: [{ cluster: 'c1', expiry: now / 1000, renews: true }],
    });
    expect(text).toMatch(
      /^JOB .*\n17 +gpu +running +node1 +1 h 30 min\n18 +gpu +Slurm job 18 waits: Priority +- +-\n\nCLUSTER .*\nc1 +u-ada +pods +1 +5\n\nKUBECTL-ON .*\nc1 +\S+ \S+ +yes\n$/,
    );
    expect(statusAnswer({ jobs: [], quotas: [], credentials: [], failed: [] }).text).toBe('');
  });

  it('have the time limit of what a profile starts', () => {
    const document = { image: 'a', lifetime: '72h', batch: { time: '8h' } };
    const times = (['podman', 'slurm'] as const).map((backend) => {
      const profile = parseProfile({ ...document, backend }, 'gpu', 'gpu.yml');
      return profilesAnswer([{ profile, isDefault: true }]).text;
    });
    expect(times).toEqual([
      expect.stringMatching(/^gpu .* 3 days +-$/m),
      expect.stringMatching(/^gpu .* 8 h +-$/m),
    ]);
  });

  it('say how to choose, with an example that is allowed', () => {
    const choose = { gres: ['gpu:1', 'gpu:2'], time: { max: '8h' } };
    const document = { image: 'a', backend: 'slurm', batch: { choose } };
    const profile = parseProfile(document, 'gpu', 'gpu.yml');
    expect(profilesAnswer([{ profile, isDefault: true }]).text).toMatch(
      /\nMore, for a job: ssh -o SetEnv='BERTH_PROFILE=NAME BERTH_TIME=8h' HOST\n$/,
    );
  });

  it('never control a terminal', () => {
    const { text } = sessionsAnswer(
      { sessions: [{ ...pod, state: '\u001b[2J\u009b', profile: 'a\nb' }], failed: [] },
      now,
    );
    expect(text.split('\n')).toHaveLength(3);
    expect(text).not.toMatch(/[\u0000-\u0009\u001b\u007f-\u009f]/);
  });
});

describe('what a user ends', () => {
  it('has a name, a full name or the number of a job', () => {
    const all = [container, job];
    expect(sessionsNamed(all, ['berth-base', 'podman/berth-base', '17'])).toEqual(all);
  });

  it('is not guessed', () => {
    expect(() => sessionsNamed([container], ['berth-bas'])).toThrow(
      expect.objectContaining({ code: 'session-unknown', hint: 'You have: berth-base.' }) as Error,
    );
    expect(() => sessionsNamed([container, pod], ['berth-base'])).toThrow(
      expect.objectContaining({
        hint: 'Name it as one of: podman/berth-base, pod/c1/berth-base.',
      }) as Error,
    );
    expect(sessionsNamed([container, pod], ['pod/c1/berth-base'])).toEqual([pod]);
  });
});
