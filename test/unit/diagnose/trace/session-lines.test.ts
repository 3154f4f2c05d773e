import { describe, expect, it } from 'vitest';
import { parseLogLine } from '../../../../src/diagnose/trace/log-line.ts';
import { parseSessionId } from '../../../../src/system/program/session-id.ts';
import { SessionLines } from '../../../../src/diagnose/trace/session-lines.ts';

const now = Date.parse('2026-01-02T12:00:00Z');

describe('a line of a log', () => {
  it.each([
    [
      '2026-01-02T03:04:05.678+01:00 login1 sshd[47]: Accepted publickey for ada',
      { time: Date.parse('2026-01-02T02:04:05.678Z'), host: 'login1', source: 'sshd', pid: 47 },
    ],
    [
      '<86>Jan  2 03:04:05 login1 berth: level=info msg="session opened"',
      { time: Date.parse('Jan 2 2026 03:04:05'), host: 'login1', source: 'berth' },
    ],
    // In January, a line of December is of the year before.
    ['Dec 31 23:59:59 login1 berth: x', { time: Date.parse('Dec 31 2025 23:59:59') }],
    [
      JSON.stringify({
        ...{ __REALTIME_TIMESTAMP: '1767355200000000', _HOSTNAME: 'login1', _PID: '47' },
        ...{ SYSLOG_IDENTIFIER: 'sshd-session', MESSAGE: 'Accepted' },
      }),
      { time: now, host: 'login1', source: 'sshd-session', pid: 47, text: 'Accepted' },
    ],
    [
      JSON.stringify({ __REALTIME_TIMESTAMP: '0', MESSAGE: [0x61, 0xe9] }),
      { time: 0, source: '', text: 'a\u00e9' },
    ],
    [
      JSON.stringify({
        ...{ kind: 'Event', stage: 'ResponseComplete', verb: 'create', userAgent: 'berth' },
        requestReceivedTimestamp: '2026-01-02T12:00:00.000000Z',
        objectRef: { resource: 'pods', subresource: 'exec', namespace: 'u-ada', name: 'berth-p' },
        ...{ responseStatus: { code: 101 }, user: { username: 'ada' } },
      }),
      {
        ...{ time: now, host: '', source: 'audit' },
        text: 'create pods/exec u-ada/berth-p 101 user=ada agent="berth"',
      },
    ],
  ])('is read: %s', (line, expected) => {
    expect(parseLogLine(line, now)).toMatchObject(expected);
  });

  it.each(['', 'x', '{', '{}', '2026-01-02T99:99:99+01:00 a b: c', '{"kind":"Event"}', 'null'])(
    'of another form is none: %s',
    (line) => {
      expect(parseLogLine(line, now)).toBeUndefined();
    },
  );
});

describe('the lines of a session', () => {
  const line = (seconds: number, host: string, rest: object) => ({
    ...{ time: now + seconds * 1000, host, source: 'berth', text: 'session=47.11@login1 user=ada' },
    ...rest,
  });
  const linesOf = (id: string, all: readonly ReturnType<typeof line>[]) => {
    const found = new SessionLines(parseSessionId(id) ?? { process: '0' });
    for (const one of all) found.add(one);
    return found.sorted().map(({ time }) => (time - now) / 1000);
  };

  it('are those with its ID, in order, and no longer number or name', () => {
    const others = ['147.11@login1', '47.110@login1', '47.11@login10', '7.47.11@login1', '47.11'];
    const all = [
      ...[
        line(3, 'node1', {}),
        line(1, 'login1', { text: 'agent="berth (session 47.11@login1)"' }),
      ],
      ...others.map((id) => line(2, 'login1', { text: `session=${id} user=ada` })),
    ];
    expect(linesOf('47.11@login1', all)).toEqual([1, 3]);
    expect(linesOf('47.11', all)).toEqual([1, 2, 3]);
  });

  it('are those of its sshd at that time, on its host', () => {
    const sshd = { source: 'sshd', pid: 47, text: 'Accepted publickey' };
    const all = [
      ...[line(0, 'login1', {}), line(60, 'login1', {}), line(-1, 'login1.example.org', sshd)],
      ...[line(-3600, 'login1', sshd), line(3600, 'login1', sshd), line(5, 'login2', sshd)],
      ...[line(6, 'login1', { ...sshd, source: 'cron' }), line(7, 'login1', { ...sshd, pid: 48 })],
    ];
    expect(linesOf('47.11@login1', all)).toEqual([-1, 0, 60]);
  });

  it('are those of its sshd for the user, whose PID sshd names', () => {
    const sshd = { source: 'sshd', pid: 47 };
    const ofChild = { source: 'sshd', pid: 52, text: 'Starting session: command for ada' };
    const named = { ...sshd, text: 'User child is on pid 52' };
    const hostile = { ...sshd, text: 'Invalid user User child is on pid 53' };
    const all = [
      ...[line(0, 'login1', {}), line(1, 'login1', named), line(2, 'login1', ofChild)],
      ...[line(3, 'login1', hostile), line(4, 'login1', { ...ofChild, pid: 53 })],
      ...[line(5, 'login1', { ...named, pid: 48, text: 'User child is on pid 54' })],
      ...[line(6, 'login1', { ...ofChild, pid: 54 }), line(3600, 'login1', ofChild)],
    ];
    expect(linesOf('47.11@login1', all)).toEqual([0, 1, 2, 3]);
  });

  it('are none of sshd with a text of a client who has not logged in', () => {
    const text = 'Invalid user level=info msg="session closed" session=47.11@login1 from 192.0.2.1';
    const all = [line(0, 'login1', {}), line(7200, 'login1', { source: 'sshd', pid: 48, text })];
    expect(linesOf('47.11@login1', all)).toEqual([0]);
  });

  it.each(['47', '47.', '.11', '047.11', '47.11@', '47.11@a b', '47.11@login1 x', ''])(
    'have no ID %s',
    (text) => {
      expect(parseSessionId(text)).toBeUndefined();
    },
  );
});
