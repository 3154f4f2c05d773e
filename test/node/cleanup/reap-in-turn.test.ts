import { expect, it } from 'vitest';
import { reapInTurn, reapProcessCommand } from '../../../src/login/cleanup/reap-in-turn.ts';
import { emptyReap } from '../../../src/login/cleanup/reap-user.ts';

const noteOf = (uid: number): string => `/run/berth-test-reap/${uid}`;

/** A stand-in for `berth reap --turns`: it hangs at UID 2, where no signal but SIGKILL helps, dies at 4, and
 * ends in the middle of a line at 6. */
const script = `
IFS=,
for uid in $1; do
  if [ "$uid" = 2 ]; then kill -STOP $$; fi
  if [ "$uid" = 4 ]; then kill -KILL $$; fi
  if [ "$uid" = 6 ]; then printf '{"uid":6,"rea'; exit; fi
  printf '{"uid":%s,"reaped":%s}\\n' "$uid" '${JSON.stringify(emptyReap)}'
done`;

it("one user's turn that hangs or dies is over at its limit, and the next one's comes", async () => {
  const start = reapProcessCommand('/bin/sh', ['-c', script, 'sh'], {});
  const limits = { turnMs: 1_500, roundMs: 60_000, noteOf };
  const seen: unknown[] = [];
  for await (const { uid, reaped } of reapInTurn([1, 2, 3, 4, 5, 6, 7], limits, start))
    seen.push([uid, reaped.failed.map(({ code, message }) => `${code}: ${message}`)]);
  const ended = 'reap-user-crashed: the cleanup process ended with';
  expect(seen).toEqual([
    [1, []],
    [2, ['reap-user-timeout: cleaning up after UID 2 took more than 1.5 s']],
    [3, []],
    [4, [`${ended} SIGKILL while it was at UID 4`]],
    [5, []],
    [6, [`${ended} exit status 0 while it was at UID 6`]],
    [7, []],
  ]);
});

it('users who hang take the time of their own turn and of no later round: all turns have one together', async () => {
  const start = reapProcessCommand('/bin/sh', ['-c', script, 'sh'], {});
  const began = performance.now();
  const seen: number[] = [];
  // Each time the second is one who hangs.
  const uids = [1, 2, 3];
  for await (const { uid } of reapInTurn(uids, { turnMs: 60_000, roundMs: 1_500, noteOf }, start))
    seen.push(uid);
  expect(seen).toEqual([1]);
  expect(performance.now() - began).toBeLessThan(10_000);
});

/**
 * A stand-in for `berth reap --turns` that begins with all users together, unless it is asked for one after the other. At UID 3 it
 * hangs.
 */
const together = `
done='${JSON.stringify(emptyReap)}'
if [ "$2" != --alone ]; then
  printf '{"at":[1]}\\n{"uid":1,"reaped":%s}\\n{"at":[2,3,4]}\\n' "$done"
  kill -STOP $$
fi
IFS=,
for uid in $1; do
  printf '{"at":[%s]}\\n' "$uid"
  if [ "$uid" = 3 ]; then kill -STOP $$; fi
  printf '{"uid":%s,"reaped":%s}\\n' "$uid" "$done"
done`;

it('of several whose processes end together, the one who hangs is found, and keeps none of the others', async () => {
  const start = reapProcessCommand('/bin/sh', ['-c', together, 'sh'], {});
  const limits = { turnMs: 1_500, roundMs: 60_000, noteOf };
  const seen: unknown[] = [];
  for await (const { uid, reaped } of reapInTurn([1, 2, 3, 4], limits, start))
    seen.push([uid, reaped.failed.map(({ code }) => code)]);
  expect(seen).toEqual([
    [1, []],
    [2, []],
    [3, ['reap-user-timeout']],
    [4, []],
  ]);
});

it('who took too long in the last round is handled after the others and alone', async () => {
  const started: unknown[] = [];
  const run = reapProcessCommand('/bin/sh', ['-c', script, 'sh'], {});
  const start: typeof run = (uids, alone) => {
    started.push([uids, alone]);
    return run(uids, alone);
  };
  const limits = { turnMs: 1_500, roundMs: 60_000, noteOf, slow: new Set([5, 2]) };
  const seen: number[] = [];
  for await (const { uid } of reapInTurn([1, 3, 5, 2], limits, start)) seen.push(uid);
  expect(seen).toEqual([1, 3, 5, 2]);
  expect(started).toEqual([
    [[1, 3], false],
    [[5, 2], true],
  ]);
});
