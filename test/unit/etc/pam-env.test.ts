import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const text = readFileSync(
  new URL('../../../etc/security/berth-pam-env.conf', import.meta.url),
  'utf8',
);
const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

/** ENVIRONMENT of ld.so(8), of glibc 2.28 (RHEL 8) to 2.41. */
const loader = [
  ...['LD_ASSUME_KERNEL', 'LD_AUDIT', 'LD_BIND_NOT', 'LD_BIND_NOW', 'LD_DEBUG', 'LD_DEBUG_OUTPUT'],
  ...['LD_DYNAMIC_WEAK', 'LD_HWCAP_MASK', 'LD_LIBRARY_PATH', 'LD_ORIGIN_PATH', 'LD_POINTER_GUARD'],
  ...['LD_PREFER_MAP_32BIT_EXEC', 'LD_PRELOAD', 'LD_PROFILE', 'LD_PROFILE_OUTPUT', 'LD_SHOW_AUXV'],
  ...[
    'LD_TRACE_LOADED_OBJECTS',
    'LD_TRACE_PRELINKING',
    'LD_USE_LOAD_BIAS',
    'LD_VERBOSE',
    'LD_WARN',
  ],
  'GLIBC_TUNABLES',
];

it.each(loader)('PAM’s environment is without %s', (name) => {
  const set = lines.indexOf(`${name} DEFAULT=x`);
  expect(set).toBeGreaterThanOrEqual(0);
  expect(lines[set + 1]).toBe(name);
});

it('nothing is left there with an empty or made-up value', () => {
  const names = lines.map((line) => line.split(/\s/)[0] ?? '');
  for (const name of new Set(names.filter((one) => !one.startsWith('PAM_'))))
    expect(lines.filter((line) => line.split(/\s/)[0] === name).at(-1)).toBe(name);
});
