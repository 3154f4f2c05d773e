import { describe, expect, it } from 'vitest';
import { refusal } from '../refusal.ts';

describe('a refused command line', () => {
  it.each([
    ['sessions list --idle-ovr 2h', 'Unknown argument: idle-ovr (did you mean --idle-over?)'],
    ['plan --usr=alice', 'Missing required argument: user'],
    ['doctor --frobnicate', 'Unknown argument: frobnicate'],
    ['doctor -z --xx-yy', 'Unknown arguments: z, xx-yy'],
    ['doctor -qz', 'Unknown argument: z'],
    ['doctor alice', 'Unknown argument: alice'],
    ['plan --user', 'Not enough arguments following: user'],
    ['sshd certify', 'Missing required arguments: ca, host-key, principal'],
    ['doctor -o yaml', 'Invalid values: Argument: output, Given: "yaml", Choices: "text", "json"'],
    ['completion', 'Missing argument: completion <shell>'],
    ['', 'a command is missing'],
    ['doctr', 'Unknown argument: doctr (did you mean doctor?)'],
    ['sessions lst', 'Unknown argument: lst (did you mean list?)'],
    ['token', 'token needs a subcommand: rotate or setup'],
    ['xyz --help', 'Unknown argument: xyz'],
    ['render --user eve --uid 5', '--uid needs --gid'],
    ['plan --ssh --user eve --port x', '--port must be a number'],
    ['doctor --timeout 1s --timeout=2s', '--timeout may be given only once'],
    ['sshd new a --port 1 --accept nonsense', '--accept nonsense: the linter has no such finding'],
    ['token rotate --kubeconfig f --cluster c', '--kubeconfig cannot be used with --cluster'],
  ])('berth %s: %s', async (line, text) => {
    expect(await refusal(...line.split(' ').filter((word) => word !== ''))).toBe(
      `64: berth: ${text} [usage]`,
    );
  });
});
