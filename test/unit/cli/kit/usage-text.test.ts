import { describe, expect, it } from 'vitest';
import { refusal } from '../refusal.ts';

describe('a refused command line', () => {
  it.each([
    ['sessions list --idle-ovr 2h', 'unknown option --idle-ovr (did you mean --idle-over?)'],
    ['plan --usr=alice', 'unknown option --usr (did you mean --user?)'],
    ['doctor --frobnicate', 'unknown option --frobnicate'],
    ['doctor -z --xx-yy', 'unknown option -z; unknown option --xx-yy'],
    ['doctor -qz', 'unknown option -z'],
    ['doctor alice', 'unexpected argument alice'],
    ['init portal alice', 'unexpected argument alice'],
    ['plan --user', '--user needs a value'],
    ['plan', '--user is missing'],
    ['sshd certify', '--ca, --host-key and --principal are missing'],
    ['doctor -o yaml', '--output yaml: must be text or json'],
    ['completion', 'SHELL is missing'],
    ['completion tcsh', 'SHELL tcsh: must be bash or fish or zsh'],
    ['--usre alice', 'unknown option --usre'],
    ['', 'a command is missing'],
    ['doctr', 'unknown command doctr (did you mean doctor?)'],
    ['sessions lst', 'unknown command lst (did you mean list?)'],
    ['token', 'token needs a subcommand: rotate or setup'],
    ['xyz --help', 'unknown command xyz'],
    ['render --user eve --uid 5', '--uid needs --gid'],
    ['plan --ssh --user eve --port x', '--port x: must be a number'],
    ['doctor --timeout 1s --timeout=2s', '--timeout may be given only once'],
    ['sshd new a --port 1 --accept nonsense', '--accept nonsense: the linter has no such finding'],
    ['token rotate --kubeconfig f --cluster c', '--kubeconfig cannot be used with --cluster'],
  ])('berth %s: %s', async (line, text) => {
    expect(await refusal(...line.split(' ').filter((word) => word !== ''))).toBe(
      `64: berth: ${text} [usage]`,
    );
  });
});
