import { describe, expect, it } from 'vitest';
import {
  isSelfService,
  selfServiceWords,
} from '../../../../src/sessions/request/self-service-command.ts';

describe('a command line for the login itself', () => {
  it.each(['berth', 'berth sessions', 'berth\tsessions', 'berth\nid', 'berth $(id)'])(
    'begins with its word: %j',
    (command) => expect(isSelfService(command, 'berth')).toBe(true),
  );

  it.each([
    ...['', 'berths', 'berth;id', 'berth&', '"berth"', ' berth', 'command berth', '/bin/berth'],
    ...['scp -t berth', 'rsync --server berth', '/usr/lib/openssh/sftp-server'],
  ])('is no other one: %j', (command) => expect(isSelfService(command, 'berth')).toBe(false));

  it('is none without a command, or where it is switched off', () => {
    expect(isSelfService(undefined, 'berth')).toBe(false);
    expect(isSelfService('berth sessions', undefined)).toBe(false);
  });
});

describe('the words of such a command line', () => {
  it('are separated by blanks', () => {
    expect(selfServiceWords('berth')).toEqual([]);
    expect(selfServiceWords('berth  end pod/c1/berth-a -o json ')).toEqual([
      ...['end', 'pod/c1/berth-a', '-o', 'json'],
    ]);
  });

  it('have no character that a shell, a terminal or a path pattern would interpret', () => {
    for (let code = 0; code < 0x250; code += 1) {
      const character = String.fromCharCode(code);
      const isPlain = /[A-Za-z0-9_.,:/=@+ -]/.test(character);
      const words = selfServiceWords(`berth end a${character}b`);
      expect(words !== undefined, `U+${code.toString(16)}`).toBe(isPlain);
    }
    expect(selfServiceWords('berth\tend')).toBeUndefined();
  });
});
