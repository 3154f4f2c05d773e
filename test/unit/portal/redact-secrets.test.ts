import { expect, it } from 'vitest';
import { redactSecrets } from '../../../src/portal/redact-secrets.ts';

it('hides secrets in arguments of an exec entry, and in both quotes of YAML', () => {
  const text = `users:
- name: a
  user:
    exec:
      command: kubelogin
      args: [get-token, --oidc-client-secret=kubelogin-secret, --oidc-client-id, ondemand]
- name: b
  user: { token: 'ab''cdefgh ijkl' }
- name: c
  user: { password: "x\\"yzzy plugh" }
`;
  const [before, after] = redactSecrets(text, text);
  expect(before).toBe(after);
  expect(after).not.toMatch(/kubelogin-secret|cdefgh|yzzy/);
  expect(after).toContain('--oidc-client-id, ondemand');
});
