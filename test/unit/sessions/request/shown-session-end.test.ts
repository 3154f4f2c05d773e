import { expect, it } from 'vitest';
import { sessionEnd } from '../../../../src/sessions/request/shown-session-end.ts';

const user = {
  lifetime: { kind: 'user', graceMs: 60_000, linger: true },
  timeouts: {},
} as const;
const timed = {
  lifetime: { kind: 'user', graceMs: 5_000, linger: false },
  timeouts: { hardMs: 5_000 },
} as const;

it.each([
  ['its own connection', user, '4711.8', { after: 'its-connection' }],
  [
    'a grace after the last one',
    user,
    undefined,
    { after: 'last-connection', graceMs: 60_000, waitsForProcesses: true },
  ],
  [
    'a grace after the last one, or its time limit',
    { ...user, timeouts: { hardMs: 90_000 } },
    undefined,
    { after: 'last-connection', graceMs: 60_000, waitsForProcesses: true, at: 91_000 },
  ],
  ['a lifetime that is a time', timed, undefined, { at: 6_000 }],
  [
    'the last connection, for a profile that was removed',
    undefined,
    undefined,
    { after: 'last-connection', graceMs: 0 },
  ],
])('ends with %s', (_, profile, connection, end) => {
  expect(sessionEnd(profile, connection, 1_000)).toEqual(end);
});
