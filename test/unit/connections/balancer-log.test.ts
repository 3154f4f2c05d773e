import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readBalancerLog } from '../../../src/connections/balancer-log.ts';

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

  it('is empty if no line has arrived', () => {
    expect(readBalancerLog(join(directory, 'absent'), 1024)).toBe('');
  });
});
