import { describe, expect, it } from 'vitest';
import { checksJson, checksText } from '../../../../src/cli/kit/check-report.ts';
import type { CheckResult } from '../../../../src/system/errors/check-result.ts';

const results: CheckResult[] = [
  { id: 'node', status: 'ok', message: 'Node 22.19.0' },
  {
    id: 'admin-token',
    cluster: 'prod',
    status: 'failed',
    message: 'expired \u001b[31mred\u001b[0m',
    next: 'Run: berth token setup',
  },
  { id: 'guard', cluster: 'prod', status: 'skipped', message: 'no answer' },
];

describe("doctor's report", () => {
  it('is plain ASCII without colours where the terminal is', () => {
    expect(checksText(results, { colour: false, unicode: false })).toBe(
      [
        'this host',
        '  ok   node         Node 22.19.0',
        '',
        'cluster prod',
        '  FAIL admin-token  expired \\u{1b}[31mred\\u{1b}[0m',
        '                    next: Run: berth token setup',
        '  skip guard        no answer',
        '',
        '1 ok, 0 warnings, 1 failed, 1 skipped',
        '',
      ].join('\n'),
    );
  });

  it('escapes control characters of a server, and has its own colours', () => {
    const text = checksText(results, { colour: true, unicode: true });
    expect(text).toContain('\u001b[31m✗\u001b[0m admin-token');
    expect(text).not.toContain('\u001b[31mred');
  });

  it('is stable for monitoring as JSON', () => {
    expect(JSON.parse(checksJson(results))).toEqual({
      apiVersion: 'berth/v1',
      kind: 'DoctorReport',
      ok: false,
      summary: { ok: 1, warning: 0, failed: 1, skipped: 1 },
      checks: results,
    });
  });

  it('escapes invisible characters in JSON, with the same value for a parser', () => {
    const evil = '\u001b[2J\u009b1m\u007f\u202e\u2028\nok';
    const text = checksJson([{ id: 'guard', status: 'failed', message: evil, next: evil }]);
    expect(text).not.toMatch(/[^\P{C}\n]/u);
    expect(text).not.toMatch(/[\u2028\u2029]/);
    expect(JSON.parse(text)).toMatchObject({ checks: [{ message: evil, next: evil }] });
  });
});
