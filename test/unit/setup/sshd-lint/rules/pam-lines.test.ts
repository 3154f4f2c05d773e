import { describe, expect, it } from 'vitest';
import { parsePam, parsePamControl } from '../../../../../src/setup/sshd-lint/rules/pam-lines.ts';

describe('a file of pam.d', () => {
  it('has modules, includes and lines that are none', () => {
    const text = [
      '# comment',
      '@include common-auth',
      '-session optional pam_systemd.so # why',
      'account [success=1 default=ignore] \\',
      '  /lib/own.so [a b] c',
      'session substack inner',
      'sesion optional pam_x.so',
      'session [success=nine] pam_x.so',
    ].join('\n');
    expect(parsePam(text, 'f')).toMatchObject([
      { line: 2, include: 'common-auth', substack: false },
      { line: 3, type: 'session', optional: true, module: 'pam_systemd.so', args: [] },
      { line: 4, type: 'account', module: '/lib/own.so', args: ['a b', 'c'] },
      { line: 6, include: 'inner', type: 'session', substack: true },
      { line: 7, fault: expect.stringContaining('no type sesion') as string },
      { line: 8, fault: expect.stringContaining('control [success=nine]') as string },
    ]);
  });

  it.each([
    ['required', { success: 'ok', failure: 'bad', missing: 'bad' }],
    ['SUFFICIENT', { success: 'done', failure: 'ignore', missing: 'ignore' }],
    ['[success=2 default=die]', { success: 2, failure: 'die', missing: 'die' }],
    [
      '[ success = ok module_unknown=ignore ]',
      { success: 'ok', failure: 'bad', missing: 'ignore' },
    ],
    ['[default=1]', { success: 1, failure: 1, missing: 1 }],
  ])('%s', (text, control) => {
    expect(parsePamControl(text)).toEqual(control);
  });

  it.each(['optinal', '[success]', '[succes=ok]', '[success=okay]', 'constructor'])(
    '%s is no control',
    (text) => {
      expect(parsePamControl(text)).toBeUndefined();
    },
  );
});
