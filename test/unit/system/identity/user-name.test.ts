import { expect, it } from 'vitest';
import { checkUserName } from '../../../../src/system/identity/nss.ts';

it.each(['ann', 'a.b@example.org', 'a_b-c', '1000', 'Z', 'x'.repeat(255)])(
  'takes %j for a name',
  (name) => {
    expect(() => checkUserName(name)).not.toThrow();
  },
);

it.each([
  '',
  'a/b',
  '../etc/passwd',
  '..',
  '.',
  'a..b',
  'ann\n',
  'ann\nroot',
  'a b',
  'a\0b',
  'ünal',
  'ann\u202e',
  'a$(id)',
  "a'b",
  '-rf',
  '--user',
  'x'.repeat(300),
])('refuses %j before any lookup', (name) => {
  expect(() => checkUserName(name)).toThrow(
    expect.objectContaining({ code: 'user-name-invalid', exitCode: 64 }),
  );
});
