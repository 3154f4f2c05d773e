import { expect, it } from 'vitest';
import { isUnchanged, withChecksum } from '../../../src/balancer/rules/checksum-line.ts';

const written = withChecksum('global\n    maxconn 100');

it('what Berth wrote is recognized', () => {
  expect(isUnchanged(written)).toBe(true);
});

it.each([
  ['a changed line', written.replace('100', '200')],
  ['a line at the end', `${written}# mine\n`],
  ['a missing line', written.replace('global\n', '')],
  ['no first line', written.slice(written.indexOf('\n') + 1)],
  ['a line before it', `# mine\n${written}`],
  ['nothing', ''],
])('%s is a change', (_, text) => {
  expect(isUnchanged(text)).toBe(false);
});
