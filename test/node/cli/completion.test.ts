import { beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

/** How each shell is started without the configuration of this machine, and how it reads the completion. */
const shells = {
  bash: ['bash --norc --noprofile -i', 'source <(berth completion bash)'],
  zsh: [
    'zsh --no-rcs -i',
    'autoload -Uz compinit; compinit -u -D; source <(berth completion zsh); unsetopt LIST_AMBIGUOUS',
  ],
  fish: ['fish --no-config --interactive', 'berth completion fish | source'],
} as const;

const tab = '\t';
/** Ctrl-A, to write before the line. */
const toStart = '\u0001';

beforeAll(() => ensurePackages(['zsh', 'fish', 'bsdutils']));

// script(1) waits a quarter of a second at its end.
describe.concurrent.each(Object.entries(shells))('%s completes', (_name, [start, setUp]) => {
  it.each([
    ['a command', 'berth sess', 'berth sessions'],
    ['a command of a command', 'berth sessions sh', 'berth sessions show'],
    ['a command after help', 'berth help sessions sh', 'berth help sessions show'],
    ['an option', 'berth sessions list --no', 'berth sessions list --no-headers'],
    ['a choice', 'berth sessions list -o wi', 'berth sessions list -o wide'],
    ['an error code', 'berth explain token-exp', 'berth explain token-expired'],
    ['a key of the configuration', 'berth explain rules.use', 'berth explain rules.users'],
    ['a value after =', 'berth sessions list --output=wi', 'berth sessions list --output=wide'],
    ['a mode of init', 'berth init login-node --mode fo', 'berth init login-node --mode forced'],
    [
      'a directory where one is expected',
      'berth render pages /etc/ld.so.conf',
      '/etc/ld.so.conf.d',
    ],
    ['nothing where only the admin knows', 'berth init login-node --port /etc/hostn', '/etc/hostn'],
    ['a path where one is expected', 'berth plan --config /etc/hostn', '/etc/hostname'],
  ])('%s', async (_what, typed, line) => {
    const input = `${setUp}\n${typed}${tab}${toStart}echo LINE \nexit\n`;
    const { stdout } = await run('script', ['--quiet', '--command', start, '/dev/null'], {
      input,
      env: {
        PATH: `${installDirectory}:/usr/bin:/bin`,
        ...{ HOME: '/nonexistent', TERM: 'dumb', LANG: 'C.UTF-8', PS1: '$ ' },
      },
    });
    const printed = stdout
      .toString()
      .split(/\r?\n/)
      .filter((text) => text.startsWith('LINE '));
    expect(printed, stdout.toString()).toHaveLength(1);
    expect(printed[0]?.trim()).toContain(line);
  });
});
