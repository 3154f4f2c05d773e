import { describe, expect, it } from 'vitest';
import { sessionRequest } from '../../../src/session/session-request.ts';

const login = '/usr/lib/berth/shell/login';

describe('what sshd calls the login with', () => {
  it.each([
    [
      'as ForceCommand',
      ['--profile', 'gpu'],
      'make',
      { kind: 'command', command: 'make', profile: 'gpu' },
    ],
    ['as ForceCommand, no command', [], undefined, { kind: 'shell' }],
    ['as login shell', ['-c', 'make'], undefined, { kind: 'command', command: 'make' }],
    ['as both', ['-c', login], 'make', { kind: 'command', command: 'make' }],
    ['as both, no command', ['-c', login], undefined, { kind: 'shell' }],
    ['as both, sftp', ['-c', login], '/usr/lib/openssh/sftp-server', { kind: 'sftp' }],
  ])('%s', (_, args, original, request) => {
    expect(sessionRequest(args, original, false, login)).toMatchObject(request);
  });

  it.each([`${login} --config /home/ann/mine.yml`, `${login} --profile gpu`, `exec ${login}`])(
    'a user who sends `%s` says nothing in the name of root',
    (command) => {
      expect(sessionRequest(['-c', command], undefined, false, login)).toEqual({
        kind: 'command',
        command,
        tty: false,
      });
    },
  );
});
