import { describe, expect, it } from 'vitest';
import { parseStatus } from '../../../../../src/sessions/exec/protocol/exec-status.ts';

/** As the API server writes it (codeExitToStatusError of k8s.io/apiserver). */
function ended(code: unknown): string {
  return JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${String(code)}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: code }] },
  });
}

describe('execOutcome', () => {
  it('is 0 for Success', () => {
    expect(parseStatus('{"metadata":{},"status":"Success"}')).toEqual({ exitCode: 0 });
  });

  it.each([1, 42, 126, 127, 137, 255])('is the exit code %i', (code) => {
    expect(parseStatus(ended(String(code)))).toEqual({ exitCode: code });
  });

  it('is 255 with what the kubelet says, harmless for a terminal', () => {
    const said = parseStatus(
      JSON.stringify({ status: 'Failure', reason: 'InternalError', message: 'exec: "x\u001b[2J"' }),
    );
    expect(said.exitCode).toBe(255);
    expect(said.reason).toMatchObject({
      code: 'exec-failed-in-pod',
      fields: { why: 'InternalError' },
    });
    expect(said.reason?.message).not.toContain('\u001b');
  });

  it.each([
    '',
    'no JSON',
    'null',
    '0',
    '[]',
    '{}',
    '{"status":"success"}',
    ended('0'),
    ended('256'),
    ended('-1'),
    ended(''),
    ended(3),
    '{"status":"Failure","reason":"NonZeroExitCode"}',
    '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":null}}',
    '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[null]}}',
  ])('is 255 with a reason for %j', (text) => {
    const { exitCode, reason } = parseStatus(text);
    expect(exitCode).toBe(255);
    expect(reason?.code).toMatch(/^exec-/);
  });

  it.each([
    { status: 'Failure', reason: 'x'.repeat(100_000), message: 'y'.repeat(100_000) },
    {
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: 'z'.repeat(100_000) }] },
    },
  ])('says no more of it than a line for a terminal', (status) => {
    const { exitCode, reason } = parseStatus(JSON.stringify(status));
    expect(exitCode).toBe(255);
    expect((reason?.message ?? '').length + JSON.stringify(reason?.fields).length).toBeLessThan(
      1500,
    );
  });

  it.each(['{"message":', '{"details":{"causes":', '{"status":'])(
    'is 255 if %s is nested',
    (start) => {
      const depth = 100_000;
      const text = `${start}${'['.repeat(depth)}${']'.repeat(depth)}${'}'.repeat(start.split('{').length - 1)}`;
      expect(parseStatus(text).exitCode).toBe(255);
    },
  );
});
