import { expect, it } from 'vitest';
import { isUnchanged, withChecksum } from '../../../../src/system/text/checksum-line.ts';

const mark = '# Written by a test.';
const written = withChecksum(mark, 'global\n    maxconn 100');

it('what Berth wrote is recognized', () => {
  expect(isUnchanged(mark, written)).toBe(true);
});

it.each([
  ['a changed line', written.replace('100', '200')],
  ['a line at the end', `${written}# mine\n`],
  ['a missing line', written.replace('global\n', '')],
  ['no first line', written.slice(written.indexOf('\n') + 1)],
  ['a line before it', `# mine\n${written}`],
  ['nothing', ''],
  ['another mark', written.replace('test', 'person')],
])('%s is a change', (_, text) => {
  expect(isUnchanged(mark, text)).toBe(false);
});
