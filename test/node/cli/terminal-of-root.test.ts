import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';

const installed = (program: string): string => join(installDirectory, program);
const asNobody = 'setpriv --reuid 65534 --regid 65534 --clear-groups';

/** A terminal of root with this mode, as script(1) makes one, and a process of another user on it, as after su(1). */
async function afterSu(mode: string, command: string): Promise<string> {
  const words = ['-qec', `chmod ${mode} "$(tty)" && ${asNobody} ${command}`, '/dev/null'];
  const { stdout } = await execa('script', words, {
    ...{ reject: false, extendEnv: false, stdin: 'ignore', timeout: 20_000, cwd: '/' },
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', SHELL: '/bin/sh' },
  });
  return stdout;
}

describe.each(['0620', '0600'])('on a terminal of root with mode %s, a user runs', (mode) => {
  it.each([
    ['berth version', /^berth \S+, build /],
    ['berth --help', /^Usage: berth COMMAND[^]*Set up:\r?\n +berth init +Set up this host/],
    ['berth doctor', /\[config-missing\]|FAIL|ok/],
    ['berth sessions list', /\[not-root\]/],
    [
      'berth init login-node',
      /^berth: this needs root \[not-root\]\r?\nnext: Run it as root, for example with sudo\.\r?$/,
    ],
    ['berth completion bash', /complete -/],
    ['hooks/pre-pun --dry-run', /--user NAME is missing \[usage\]/],
    ['hooks/k8s-bootstrap', /the user name is missing/],
    ['shell/kube-credential', /\[kubectl-call-invalid\]/],
    ['shell/login true', /^login: .* session \S+\]/],
  ])('%s', async (command, expected) => {
    const printed = await afterSu(mode, installed(command));
    expect(printed).toMatch(expected);
    expect(printed).not.toMatch(/EACCES|^ +at /m);
  });
});
