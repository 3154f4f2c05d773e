import { describe, expect, it } from 'vitest';
import { configurationKeys, keysNamed } from '../../../../src/cli/kit/configuration-keys.ts';
import { explanations, keyNames, keysText } from '../../../../src/cli/explain/explain-text.ts';

const named = (word: string): string[] => keysNamed(word).map(({ file, key }) => `${file}:${key}`);

describe('berth explain KEY', () => {
  it.each([
    ['ssh.yml:rules.users', ['ssh.yml:rules.users']],
    ['rules.users', ['ssh.yml:rules.users']],
    ['ssh.yml', ['ssh.yml:']],
    ['clusters.prod.admin.kubeconfig', ['berth.yml:clusters.NAME.admin.kubeconfig']],
    ['berth.yml:defaults.admin.context', ['berth.yml:defaults.admin.context']],
    [
      'admin.kubeconfig',
      ['berth.yml:defaults.admin.kubeconfig', 'berth.yml:clusters.NAME.admin.kubeconfig'],
    ],
    ['profile:image', ['profile:image']],
    ['no.such.key', []],
    ['', ['berth.yml:', 'ssh.yml:', 'profile:', 'admission.yml:', 'balancer.yml:', 'clusters.d:']],
  ])('%j is %j', (word, keys) => {
    expect(named(word)).toEqual(keys);
  });

  it('prints file, type, meaning, values and default', () => {
    expect(keysText(keysNamed('ssh.yml:otherwise'))).toBe(`FILE: /etc/berth/ssh.yml
KEY:  otherwise <string>

What happens to users without a matching rule. \`host-shell\` is for members of
\`host_shell_groups\` only.

Value: \`refuse\` or \`host-shell\`.

Default: \`"refuse"\`.
`);
  });

  it('lists what is below it, and explains what means the same once', () => {
    expect(keysText(keysNamed('ssh.yml:rules'))).toContain(
      '\nKEYS:\n  profile: The profile that the rule selects.\n  backend: ',
    );
    const text = keysText(keysNamed('admin.kubeconfig'));
    expect(text).toContain(
      'KEY:  defaults.admin.kubeconfig, clusters.NAME.admin.kubeconfig <string>',
    );
    expect(text.match(/^FILE:/gm)).toHaveLength(1);
    expect(keysText(keysNamed('berth.yml'))).toContain('  minimum_uid: ');
  });

  it('has a meaning for each key, and no key with the name of an error code', () => {
    expect(configurationKeys.length).toBeGreaterThan(200);
    for (const { description } of configurationKeys) expect(description).not.toBe('');
    // A check may have the name of a key: `berth explain` prints both.
    const codes = new Set(
      explanations(undefined)
        .filter(({ type }) => type !== 'check')
        .map(({ code }) => code),
    );
    expect(keyNames().filter((name) => codes.has(name))).toEqual([]);
  });
});
