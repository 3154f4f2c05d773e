import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  hasBalancerLines,
  readBalancerLog,
} from '../../../../src/sessions/connections/balancer-log.ts';

const directory = mkdtempSync(join(tmpdir(), 'balancer-log-'));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

describe('the log of the balancer', () => {
  it('is not read through a symbolic link, which is reported as any other unsafe file', () => {
    const file = join(directory, 'log');
    writeFileSync(file, 'line\n');
    chmodSync(file, 0o640);
    const link = join(directory, 'link');
    symlinkSync(file, link);
    expect(() => readBalancerLog(link, 1024)).toThrow(
      expect.objectContaining({ code: 'balancer-log-unsafe', fields: { file: link } }),
    );
  });

  it.each([
    ['2026-01-02T03:04:05+01:00 lb1 haproxy[1]:', true],
    ['Jan  2 03:04:05 lb1 haproxy:', true],
    ['02/Jan/2026:03:04:05 lb1 haproxy:', false],
  ])('has lines of a known form after %s', (head, isKnown) => {
    const ends = 'client=192.0.2.7 client_port=1 node=n source=192.0.2.1 source_port=2 ';
    const line = `${head} ${ends}node_address=192.0.2.9 node_port=332`;
    expect(hasBalancerLines(`x\n${line}\n`)).toBe(isKnown);
    expect(hasBalancerLines(line.replace('source_port', 'port'))).toBe(false);
  });

  it('is empty if no line has arrived', () => {
    expect(readBalancerLog(join(directory, 'absent'), 1024)).toBe('');
  });
});
