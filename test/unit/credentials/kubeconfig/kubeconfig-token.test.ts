import { describe, expect, it } from 'vitest';
import { replaceToken } from '../../../../src/credentials/kubeconfig/kubeconfig-token.ts';

const oldToken = 'eyJold.old.old';
const newToken = 'eyJnew.new-_new.new';

const block = `# the portal's own, see ticket 4711
apiVersion: v1
kind: Config
clusters:   # two spaces, on purpose
    - name: c
      cluster: {server: "https://127.0.0.1:6443"}
users:
    # not this one
    - name: other
      user:
          token: ${oldToken}
    - name: 'hook'
      user:
          as: somebody # kept
          token: ${oldToken}   # renewed by berth
contexts: []
`;

describe('the token of one user entry', () => {
  it('changes alone: comments, order, quoting and the same token of another entry stay', () => {
    const edited = replaceToken(block, 'hook', newToken, 'f');
    const lines = block.split('\n');
    const changed = edited.split('\n').filter((line, index) => line !== lines[index]);
    expect(changed).toEqual([`          token: ${newToken}   # renewed by berth`]);
    expect(edited.split('\n')).toHaveLength(lines.length);
  });

  it.each([
    ['single quotes', `users: [{name: hook, user: {token: '${oldToken}'}}]\n`],
    ['double quotes', `users:\n- name: hook\n  user:\n    token: "${oldToken}"\n`],
    ['JSON', `{"users":[{"name":"hook","user":{"token":"${oldToken}"}}],"kind":"Config"}`],
    ['brackets without quotes', `users: [{name: hook, user: {token: ${oldToken}}}]`],
    [
      'Windows line ends',
      `kind: Config\r\nusers:\r\n- name: hook\r\n  user:\r\n    token: ${oldToken}\r\n`,
    ],
  ])('is replaced in %s, byte for byte', (_style, text) => {
    expect(replaceToken(text, 'hook', newToken, 'f')).toBe(text.replace(oldToken, newToken));
  });

  it('is replaced where it stood as a block scalar', () => {
    const text = `users:\n- name: hook\n  user:\n    token: >-\n      ${oldToken}\n- name: b\n`;
    expect(replaceToken(text, 'hook', newToken, 'f')).toBe(
      `users:\n- name: hook\n  user:\n    token: ${newToken}\n- name: b\n`,
    );
  });

  it.each([
    ['shares it by an anchor', `x: &t ${oldToken}\nusers:\n- name: hook\n  user:\n    token: *t\n`],
    [
      'lends it to another entry',
      `users:\n- name: hook\n  user:\n    token: &t ${oldToken}\n- name: b\n  user:\n    token: *t\n`,
    ],
  ])('is refused where the file %s', (_how, text) => {
    expect(() => replaceToken(text, 'hook', newToken, 'f')).toThrow(
      expect.objectContaining({ code: 'kubeconfig-not-editable' }) as Error,
    );
  });

  it('is refused where the entry has none', () => {
    expect(() => replaceToken('users:\n- name: hook\n  user: {}\n', 'hook', newToken, 'f')).toThrow(
      expect.objectContaining({ code: 'hook-token-not-in-kubeconfig' }) as Error,
    );
  });

  it('is refused where the new one could be anything but a JWT', () => {
    expect(() => replaceToken(block, 'hook', 'a: b\nc', 'f')).toThrow(/not a JWT/);
  });
});
