import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../../src/config/schema/profile/profile-parse.ts';
import {
  containerSession,
  sessionCommand,
  type SessionContainer,
} from '../../../../../../src/sessions/backends/podman/argv/session-command.ts';
import { sessionRequest } from '../../../../../../src/sessions/request/session-request.ts';
import { host } from '../../../request/host.ts';

const container: SessionContainer = {
  id: 'c'.repeat(64),
  pid: 4710,
  pausePid: 4711,
  env: ['PATH=/opt/bin:/bin', 'MODULEPATH=/opt/modules', 'HOME=/root'],
  shell: '/bin/bash',
  cwd: '/home/ada',
  hasBundledTools: true,
  terminalRelay: 'runtime',
};
const profile = (fields: object = {}) => parseProfile({ image: 'a', ...fields }, 'p', 'p.yml');
const session = (
  wanted: { command?: string; tty?: boolean },
  options: {
    umask?: number;
    env?: Record<string, string>;
    profile?: object;
    inside?: Partial<SessionContainer>;
  } = {},
) =>
  containerSession(
    host,
    { ...container, ...options.inside },
    {
      request: sessionRequest([], wanted.command, wanted.tty ?? false),
      profile: profile(options.profile),
      env: options.env ?? {},
      ...(options.umask === undefined ? {} : { umask: options.umask }),
    },
  );

describe('the words of a session', () => {
  it('are the shell as a login shell, where nothing was asked for', () => {
    expect(session({}).argv).toEqual(['/bin/bash', '-l']);
  });

  it("hand the client's command over as one word, whatever is in it", () => {
    const command = `a 'b  "c" $(d); -c e\n`;
    expect(session({ command }).argv).toEqual(['/bin/bash', '-c', command]);
  });

  it('set a umask that is not the one of the runtime', () => {
    expect(session({ command: 'id' }, { umask: 0o022 }).argv).toEqual(['/bin/bash', '-c', 'id']);
    expect(session({ command: 'id' }, { umask: 0o007 }).argv).toEqual([
      ...['/bin/sh', '-c', 'umask 007; exec "$0" "$@"'],
      ...['/bin/bash', '-c', 'id'],
    ]);
  });

  it("run the bundled sftp server with its own loader, and the image's where nothing is bundled", () => {
    const command = '/usr/lib/openssh/sftp-server -l INFO';
    expect(session({ command }).argv).toEqual([
      ...['/run/berth/files/ld.so', '--library-path', '/run/berth/files/lib'],
      ...['--argv0', 'sftp-server', '/run/berth/files/sftp-server.bin', '-l', 'INFO'],
    ]);
    const { argv } = session({ command }, { inside: { hasBundledTools: false }, umask: 0o027 });
    // sshd_config's own -u would come after it, and count.
    expect(argv).toEqual(['/usr/lib/openssh/sftp-server', '-u', '027', '-l', 'INFO']);
  });
});

describe('the environment inside', () => {
  it("is the image's, with who the user is in the place of whom the image thinks of", () => {
    expect(session({}).env).toEqual({
      PATH: '/opt/bin:/bin',
      MODULEPATH: '/opt/modules',
      HOME: '/home/ada',
      USER: 'ada',
      LOGNAME: 'ada',
      SHELL: '/bin/bash',
      BERTH_CONNECTION: '12.34',
      BERTH_PROFILE: 'p',
    });
  });

  it('lets in of the client what is harmless, and what the profile names', () => {
    const env = {
      ...{ TERM: 'xterm', LC_TIME: 'C', LD_PRELOAD: '/x', NODE_OPTIONS: '-r /x', PATH: '/x' },
      ...{ BASH_ENV: '/x', HOME: '/x', MY_A: '1', MY: '2', DISPLAY: ':1', SSH_AUTH_SOCK: '/tmp/a' },
    };
    const before = Object.keys(session({}).env);
    const added = (options: object) =>
      Object.entries(session({}, { env, profile: options }).env).filter(
        ([name]) => !before.includes(name),
      );
    const closed = { x11: false, agent: false };
    expect(added(closed)).toEqual([
      ['TERM', 'xterm'],
      ['LC_TIME', 'C'],
    ]);
    expect(added({ environment: { pass: ['MY_*'] } })).toContainEqual(['MY_A', '1']);
    expect(added({ environment: { pass: ['MY_*'] } })).not.toContainEqual(['MY', '2']);
    expect(added({ x11: true })).toContainEqual(['DISPLAY', ':1']);
    // The host's /tmp is elsewhere inside.
    expect(added({ agent: true })).toContainEqual(['SSH_AUTH_SOCK', '/run/berth/tmp/a']);
    expect(session({}, { env }).env).toMatchObject({ PATH: '/opt/bin:/bin', HOME: '/home/ada' });
  });

  it('has what the profile sets, filled in for the user, as the last word', () => {
    const options = { environment: { set: { SCRATCH: '/scratch/$USER/$UID', TERM: 'dumb' } } };
    expect(session({}, { env: { TERM: 'xterm' }, profile: options }).env).toMatchObject({
      SCRATCH: '/scratch/ada/5501',
      TERM: 'dumb',
    });
  });
});

describe('what the login becomes', () => {
  const env = { LC_ODD: 'a=b', LC_LINES: 'one\ntwo\n', LC_RAW: 'caf\udce9' };
  /** What a shell makes of the words and the environment. */
  const made = (words: readonly string[], pairs: readonly string[]): string => {
    const [file = '', ...args] = words;
    const env = new Map(pairs.map((pair) => [pair.replace(/=.*/s, ''), pair.replace(/^\w+=/, '')]));
    const { stdout } = spawnSync(file, args, { env: Object.fromEntries(env) });
    return stdout.toString('latin1');
  };
  const command = 'printf "<%s|%s|%s>" "$LC_ODD" "$LC_LINES" "$LC_RAW"; env | grep -c BERTH_ENV';

  it('is the runtime in the user namespace of the user, with nothing of the client around it', () => {
    const call = sessionCommand(host, container, session({ command, tty: true }, { env }), '/f');
    expect(call.file).toBe('/usr/bin/nsenter');
    expect(call.args).toEqual([
      ...['nsenter', '--user', '--mount', '--preserve-credentials', '--target', '4711', '--'],
      ...['/usr/bin/crun', '--root', '/run/user/5501/crun', 'exec'],
      ...['--process', '/f', container.id],
    ]);
    expect(call.env).toEqual({
      HOME: '/var/lib/berth-ssh/users/5501',
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      XDG_RUNTIME_DIR: '/run/user/5501',
      LANG: 'C.UTF-8',
    });
    expect(call.startFile.path).toBe('/f');
    const process = JSON.parse(call.startFile.text) as { args: string[]; env: string[] };
    expect(process).toMatchObject({
      ...{ terminal: true, user: { uid: 5501, gid: 5502 }, cwd: '/home/ada' },
    });
    expect(process.env).toContain('PATH=/opt/bin:/bin');
    expect(made(process.args, process.env)).toBe('<a=b|one\ntwo\n|caf\xe9>0\n');
  });

  it('is podman for a terminal whose size the runtime would not follow, and only then', () => {
    const slow: SessionContainer = { ...container, terminalRelay: 'podman' };
    expect(sessionCommand(host, slow, session({ tty: false }), '/f').file).toBe('/usr/bin/nsenter');
    const { file, args, startFile } = sessionCommand(
      ...([host, slow, session({ command, tty: true }, { env }), '/f'] as const),
    );
    expect(file).toBe('/bin/sh');
    expect(args.slice(3, 7)).toEqual(['login', '/f.messages', '4710', '/usr/bin/podman']);
    const words = args.slice(args.indexOf('exec'));
    expect(words.slice(0, 12)).toEqual([
      ...['exec', '--interactive', '--tty', '--detach-keys', ''],
      ...['--user', '5501:5502', '--workdir', '/home/ada', '--env-file', '/f', container.id],
    ]);
    const lines = startFile.text.split('\n').filter((line) => line !== '');
    expect(lines.every((line) => /^\w+=/.test(line))).toBe(true);
    expect(made(words.slice(12), lines)).toBe('<a=b|one\ntwo\n|caf\xe9>0\n');
  });

  it('sets the size of the terminal before the command where podman relays, which sets it some time later', () => {
    const slow: SessionContainer = { ...container, terminalRelay: 'podman' };
    const sized = {
      ...session({ command: 'id', tty: true }),
      terminalSize: { columns: 66, rows: 27 },
    };
    const { args } = sessionCommand(host, slow, sized, '/f');
    expect(args.slice(args.indexOf(container.id) + 1)).toEqual([
      ...['/bin/sh', '-c', 'stty cols 66 rows 27 2>/dev/null; exec "$0" "$@"'],
      ...['/bin/bash', '-c', 'id'],
    ]);
    const unsized = { ...sized, terminalSize: undefined };
    expect(sessionCommand(host, slow, unsized, '/f').args.slice(-3)).toEqual([
      '/bin/bash',
      '-c',
      'id',
    ]);
  });
});
