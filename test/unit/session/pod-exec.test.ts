import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../src/config/profile-parse.ts';
import { podSession } from '../../../src/session/pod-exec.ts';
import { sessionRequest } from '../../../src/session/session-request.ts';
import { host } from './host.ts';

const argv = (command: string | undefined, fields: object = {}, env: Record<string, string> = {}) =>
  podSession(host, parseProfile({ image: 'a', ...fields }, 'p', 'p.yml'), {
    ...{ request: sessionRequest([], command, false), env, umask: 0o022, nonce: 'N' },
  }).argv;

describe('what an exec into a pod runs', () => {
  it("is the client's command as one word for the shell of the profile, in the user's environment", () => {
    const command = `echo "a  b"; $c`;
    const words = argv(command, { shell: '/bin/zsh' });
    expect(words[0]).toBe('env');
    expect(words).toContain('SHELL=/bin/zsh');
    expect(words.slice(-3)).toEqual(['/bin/zsh', '-c', command]);
  });

  it("is the account's own shell where the image has it", () => {
    const words = argv(undefined);
    expect(words.slice(-2)).toEqual(['/bin/bash', '-l']);
    expect(words.join(' ')).toContain('[ -x "$1" ]');
    expect(argv(undefined, { shell: '/bin/zsh' }).join(' ')).not.toContain('[ -x "$1" ]');
  });

  it('knows nothing of sockets that are on this host', () => {
    const env = { SSH_AUTH_SOCK: '/tmp/a', DISPLAY: ':1', TERM: 'xterm', LD_PRELOAD: '/x' };
    const names = argv('id', {}, env).map((word) => word.split('=')[0]);
    expect(names).toContain('TERM');
    expect(names).not.toContain('SSH_AUTH_SOCK');
    expect(names).not.toContain('DISPLAY');
    expect(names).not.toContain('LD_PRELOAD');
  });

  it("knows the session's own sockets in the pod", () => {
    const words = podSession(host, parseProfile({ image: 'a' }, 'p', 'p.yml'), {
      ...{ request: sessionRequest([], 'id', false), nonce: 'N' },
      ...{ env: { SSH_AUTH_SOCK: '/tmp/a' }, forwarded: { SSH_AUTH_SOCK: '/tmp/b' } },
    }).argv;
    expect(words.filter((word) => word.startsWith('SSH_AUTH_SOCK'))).toEqual([
      'SSH_AUTH_SOCK=/tmp/b',
    ]);
  });

  it("has the terminal's size from its first moment, where that is known", () => {
    const words = (tty: boolean, columns: number): string => {
      const request = sessionRequest([], 'id', tty);
      const size = { columns, rows: 27 };
      const connection = { request, env: {}, nonce: 'N', size };
      return podSession(host, parseProfile({ image: 'a' }, 'p', 'p.yml'), connection).argv.join(
        ' ',
      );
    };
    expect(words(true, 66)).toContain('stty cols 66 rows 27 2>/dev/null; ');
    expect(words(true, 0)).not.toContain('stty');
    expect(words(false, 66)).not.toContain('stty');
  });

  it('is well-formed text, whatever the client sent', () => {
    const words = argv('echo \udce9');
    expect(words.every((word) => word.isWellFormed())).toBe(true);
    expect(words.slice(0, 2)).toEqual(['sh', '-c']);
  });
});
