import { describe, expect, it } from 'vitest';
import { pamFindings } from '../../../../../src/setup/sshd-lint/rules/pam-findings.ts';
import { parsePam, type PamLine } from '../../../../../src/setup/sshd-lint/rules/pam-lines.ts';

const hook = 'session optional pam_exec.so /usr/lib/berth/hooks/pam-session';
const none = new Set<string>();

function codesOf(line: string): string[] {
  const entries = parsePam(`${line}\n${hook} open\n${hook} close\n`, 'sshd');
  const lines = entries.map((entry) => ({ ...entry, level: 0 }) as unknown as PamLine);
  const missing = { modules: none, programs: none, files: none };
  return pamFindings(lines, missing, 'sshd').map(({ code }) => code);
}

describe('pam_env with user_readenv', () => {
  it.each(['1', '2', '-1', '+1', '01', '10', '1yes'])('=%s reads a file of the user', (value) => {
    expect(codesOf(`session required pam_env.so user_readenv=${value}`)).toEqual([
      'pam-user-environment',
    ]);
  });

  it.each(['0', '00', '', 'yes', 'x1'])('=%s does not, as atoi(3) reads it', (value) => {
    expect(codesOf(`session required pam_env.so user_readenv=${value}`)).toEqual([]);
  });

  it('is what the last one says', () => {
    const twice = (one: number, two: number) =>
      codesOf(`session required pam_env.so user_readenv=${one} user_readenv=${two}`);
    expect([twice(1, 0), twice(0, 3)]).toEqual([[], ['pam-user-environment']]);
  });
});

it.each([
  'session optional pam_mount.so',
  'auth required /opt/site/pam_python.so /opt/site/check.py',
  'session optional pam_gnome_keyring.so auto_start',
])('says that it does not judge a module that reads files of the user: %s', (line) => {
  expect(codesOf(line)).toEqual(['pam-module-not-judged']);
});
