import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../../src/config/schema/profile/profile-parse.ts';
import { podSession } from '../../../../../../src/sessions/backends/pod/objects/exec-argv.ts';
import { sessionRequest } from '../../../../../../src/sessions/request/session-request.ts';
import { host } from '../../../request/host.ts';

const session = (
  command: string | undefined,
  fields: object = {},
  env: Record<string, string> = {},
) =>
  podSession(host, parseProfile({ image: 'a', ...fields }, 'p', 'p.yml'), {
    ...{ request: sessionRequest([], command, false), env, umask: 0o022, nonce: 'N' },
  });

describe('what an exec into a pod runs', () => {
  it("is the client's command as one word for the shell of the profile, in the user's environment", () => {
    const command = `echo "a  b"; $c`;
    const { words, env } = session(command, { shell: '/bin/zsh' }).opening;
    expect(env).toMatchObject({ SHELL: '/bin/zsh', HOME: host.user.home });
    expect(words).toEqual(['/bin/zsh', '-c', command]);
  });

  it("is the account's shell if the image has it", () => {
    const { words, before } = session(undefined).opening;
    expect(words).toEqual(['/bin/bash', '-l']);
    expect(before).toContain('[ -x "$1" ]');
    expect(session(undefined, { shell: '/bin/zsh' }).opening.before).not.toContain('[ -x "$1" ]');
  });

  it('has the same arguments for every user and command', () => {
    const one = session('id', {}, { TERM: 'xterm' }).argv;
    expect(session('echo \udce9', { shell: '/bin/zsh' }).argv).toEqual(one);
  });

  it('has no variables for sockets on this host', () => {
    const given = { SSH_AUTH_SOCK: '/tmp/a', DISPLAY: ':1', TERM: 'xterm', LD_PRELOAD: '/x' };
    const names = Object.keys(session('id', {}, given).opening.env);
    expect(names).toContain('TERM');
    expect(names).not.toContain('SSH_AUTH_SOCK');
    expect(names).not.toContain('DISPLAY');
    expect(names).not.toContain('LD_PRELOAD');
  });

  it("forwards the session's sockets in the pod", () => {
    const { env } = podSession(host, parseProfile({ image: 'a' }, 'p', 'p.yml'), {
      ...{ request: sessionRequest([], 'id', false), nonce: 'N' },
      ...{ env: { SSH_AUTH_SOCK: '/tmp/a' }, forwarded: { SSH_AUTH_SOCK: '/tmp/b' } },
    }).opening;
    expect(env.SSH_AUTH_SOCK).toBe('/tmp/b');
  });

  it("sets the terminal's size at the start if it is known", () => {
    const before = (tty: boolean, columns: number): string | undefined => {
      const request = sessionRequest([], 'id', tty);
      const size = { columns, rows: 27 };
      const connection = { request, env: {}, nonce: 'N', size };
      return podSession(host, parseProfile({ image: 'a' }, 'p', 'p.yml'), connection).opening
        .before;
    };
    expect(before(true, 66)).toContain('stty cols 66 rows 27 2>/dev/null');
    expect(before(true, 0)).not.toContain('stty');
    expect(before(false, 66)).not.toContain('stty');
  });
});
