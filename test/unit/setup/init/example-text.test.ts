import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { exampleWith } from '../../../../src/setup/init/rules/example-text.ts';
import { pamWithHooks } from '../../../../src/setup/init/login-node-setup.ts';

const example = (name: string): string =>
  readFileSync(new URL(`../../../../etc/berth/${name}.example`, import.meta.url), 'utf8');

describe('a file made from an example', () => {
  it.each(['ssh.yml', 'berth.yml', 'balancer.yml', 'admission.yml'])(
    'of %s sets nothing but the given keys, and keeps every line of the example',
    (name) => {
      const text = example(name);
      const made = exampleWith(text, {});
      expect(parse(made)).toBeNull();
      const bare = (lines: string) =>
        lines.split('\n').map((line) => line.replace(/^# ?/, '').trimEnd());
      expect(bare(made).filter((line) => line !== '')).toEqual(
        bare(text).filter((line) => line !== ''),
      );
    },
  );

  it('has the values in the place of those of the example', () => {
    const made = exampleWith(example('ssh.yml'), {
      rules: 'rules:\n  - profile: minimal',
      podman: 'podman:\n  cgroup_manager: cgroupfs',
    });
    expect(parse(made)).toEqual({
      rules: [{ profile: 'minimal' }],
      podman: { cgroup_manager: 'cgroupfs' },
    });
    expect(made).not.toContain('break-glass');
    expect(made).toContain('# storage: /var/lib/berth-ssh\n');
  });
});

describe("sshd's PAM file", () => {
  const hooks = readFileSync(
    new URL('../../../../etc/pam.d/berth-session', import.meta.url),
    'utf8',
  );
  const debian =
    '# user_readenv=1 is explained here\nsession required pam_env.so user_readenv=2 envfile=/etc/default/locale\n';

  it('gets the hooks once, and loses user_readenv=1 outside comments', () => {
    const once = pamWithHooks(debian, hooks);
    expect(once).toBe(
      `# user_readenv=1 is explained here\nsession required pam_env.so envfile=/etc/default/locale\n${hooks}`,
    );
    expect(pamWithHooks(once, hooks)).toBe(once);
  });

  it.each([
    ['user_readenv=02 user_readenv=7 a', ' a'],
    ['readenv=0 user_readenv=0', ' readenv=0 user_readenv=0'],
  ])('keeps of %s what reads no file of the home', (words, kept) => {
    const text = (rest: string) => `session required pam_env.so${rest}\n${hooks}`;
    expect(pamWithHooks(text(` ${words}`), hooks)).toBe(text(kept));
  });

  it('gets the hooks if they are only in a comment', () => {
    const comment = hooks.replaceAll(/^/gm, '# ').slice(0, -'# '.length);
    expect(pamWithHooks(comment, hooks)).toBe(`${comment}${hooks}`);
  });
});
