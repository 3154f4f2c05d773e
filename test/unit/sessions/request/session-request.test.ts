import { describe, expect, it } from 'vitest';
import { sessionRequest } from '../../../../src/sessions/request/session-request.ts';

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

  it('is sftp where the subsystem was asked for, and a command where only its name occurs', () => {
    const kind = (command: string) => sessionRequest(['-c', command], undefined, false, login).kind;
    for (const command of ['/usr/lib/openssh/sftp-server -l INFO', 'internal-sftp', 'sftp-server'])
      expect(kind(command)).toBe('sftp');
    for (const command of ['echo sftp-server', 'sftp-servers', '/bin/x sftp-server'])
      expect(kind(command)).toBe('command');
  });

  it('keeps every character of a command that looks like something else', () => {
    const command = '-c $(id)\n--config /tmp/x ';
    for (const request of [
      sessionRequest([], command, false, login),
      sessionRequest(['-c', command], undefined, false, login),
    ])
      expect(request).toEqual({ kind: 'command', command, tty: false });
  });

  it.each([[['--what', 'x']], [['--profile']], [['--profile', '']], [['-c']], [['-c', 'a', 'b']]])(
    'refuses %j',
    (args) => {
      const usage = expect.objectContaining({ code: 'usage' }) as Error;
      expect(() => sessionRequest(args, undefined, false, login)).toThrow(usage);
    },
  );
});
