import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { setKubeconfigEntries } from '../../../../src/credentials/kubeconfig/kubeconfig-edit.ts';
import {
  clusterEntry,
  execUser,
  type KubeconfigEntries,
} from '../../../../src/credentials/kubeconfig/kubeconfig-entries.ts';
import { repetitions } from '../../../rig/soak.ts';
import { ours, randomKubeconfig } from './random-kubeconfig.ts';

const wanted: KubeconfigEntries = {
  user: { name: ours.user, value: execUser('/usr/lib/berth/shell/kube-credential') },
  cluster: {
    name: ours.cluster,
    value: clusterEntry({ endpoint: 'https://k8s.example.org:6443', caFile: '/etc/pki/ca.pem' }),
  },
  context: {
    name: ours.context,
    value: { cluster: ours.cluster, namespace: 'user-ann', user: ours.user },
  },
  currentContextIfUnset: ours.context,
};

interface Item {
  name?: string;
  [key: string]: unknown;
}
type Config = Record<string, unknown> & Record<'clusters' | 'contexts' | 'users', Item[] | null>;

const read = (text: string): Config => parse(text, { merge: true }) as Config;
const edit = (text: string): string => setKubeconfigEntries(text, [wanted]).text;

describe('a file that is not there yet', () => {
  it('becomes a whole kubeconfig in the style of kubectl', () => {
    expect(edit('')).toBe(
      `apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: ondemand
  cluster:
    certificate-authority: /etc/pki/ca.pem
    server: https://k8s.example.org:6443
contexts:
- name: ondemand
  context:
    cluster: ondemand
    namespace: user-ann
    user: oidc-ann
users:
- name: oidc-ann
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: /usr/lib/berth/shell/kube-credential
      interactiveMode: Never
      provideClusterInfo: true
current-context: ondemand
`,
    );
  });

  it('keeps the comments of a file that holds nothing else', () => {
    expect(edit('# to do: ask for a cluster')).toMatch(
      /^# to do: ask for a cluster\napiVersion: v1\n/,
    );
  });

  it('takes any name for what it is, a string', () => {
    for (const name of [
      'yes',
      '123',
      '1e3',
      '~',
      'null',
      '- x',
      'a: b',
      'ü\u2028',
      '#',
      '',
      '0x1f',
    ]) {
      const { text } = setKubeconfigEntries('', [{ context: { name, value: { user: name } } }]);
      expect(read(text).contexts).toEqual([{ name, context: { user: name } }]);
      expect(text).toMatch(/^[\u0000-\u007e]*$/);
    }
  });
});

describe('entries of ours that are there', () => {
  it('lose a static token, which would pass over the plugin, and keep impersonation', () => {
    const text = edit('users:\n- name: oidc-ann\n  user:\n    token: secret # old\n    as: bob\n');
    expect(text).not.toContain('secret');
    expect(read(text).users?.[0]).toMatchObject({ user: { as: 'bob', exec: {} } });
  });

  it('lose what kubectl config set-cluster clears, and keep the proxy', () => {
    const text = edit(
      'clusters:\n- name: ondemand\n  cluster:\n    certificate-authority-data: Zm9v\n    insecure-skip-tls-verify: true\n    proxy-url: http://proxy:3128\n    server: https://old\n',
    );
    expect(read(text).clusters?.[0]?.cluster).toEqual({
      'certificate-authority': '/etc/pki/ca.pem',
      server: 'https://k8s.example.org:6443',
      'proxy-url': 'http://proxy:3128',
    });
  });

  it('are left alone as kubectl itself rewrites them, with args and env null', () => {
    const text = edit('').replace(
      '      command',
      '      args: null\n      env: null\n      command',
    );
    expect(setKubeconfigEntries(text, [wanted])).toEqual({ text, changed: false });
  });

  it('do not take the current context from the user', () => {
    expect(edit('current-context: mine\n')).toContain('current-context: mine\n');
    expect(edit('current-context: "" # none\n')).toContain('current-context: ondemand # none\n');
  });

  it('are set for a hundred clusters at once', () => {
    const many = Array.from({ length: 100 }, (_, index) => ({
      user: { name: `u${index}`, value: execUser('/x', [String(index)]) },
      cluster: { name: `c${index}`, value: { server: `https://c${index}` } },
      context: { name: `c${index}`, value: { cluster: `c${index}`, user: `u${index}` } },
    }));
    const { text } = setKubeconfigEntries('', many);
    expect(read(text).users).toHaveLength(100);
    expect(setKubeconfigEntries(text, many).changed).toBe(false);
  });
});

describe('the rest of the file', () => {
  it('stays byte for byte: comments, order, quoting, line ends', () => {
    const before =
      '# mine\r\nkind:   Config\r\nusers:\r\n  - {name: "b", user: {token: x}}  # flow\r\n\r\n  # last\r\ncontexts: []\r\n';
    const after = edit(before);
    expect(after.replaceAll('\r\n', '')).not.toContain('\n');
    for (const line of before.split('\r\n').slice(0, 4))
      expect(after.split('\r\n')).toContain(line);
  });

  it('keeps the comments below an entry with it', () => {
    const before =
      'users:\n- name: a\n  user:\n    token: x\n    # token: older\n# next\ncontexts: []\n';
    expect(edit(before)).toContain('    # token: older\n- name: oidc-ann\n');
  });

  it(
    `stays as it was in ${repetitions(150, 2_000)} files of all styles, and a second edit changes nothing`,
    { timeout: 60_000 },
    () => {
      for (let seed = 1; seed <= repetitions(150, 2_000); seed++) {
        const { text, foreign } = randomKubeconfig(seed);
        const before = read(text);
        const after = editSeed(seed, text);
        const context = `seed ${seed}\n${text}\n=====>\n${after}`;

        let from = 0;
        for (const piece of foreign) {
          const at = after.indexOf(piece, from);
          expect(at, `${JSON.stringify(piece)} in ${context}`).toBeGreaterThanOrEqual(0);
          from = at + piece.length;
        }
        expect(withoutOurs(read(after)), context).toEqual(withoutOurs(before));
        expectOurs(read(after), context);
        expect(setKubeconfigEntries(after, [wanted]), context).toEqual({
          text: after,
          changed: false,
        });
        if (/^[[{]/.test(text) && isJson(text)) expect(isJson(after), context).toBe(true);
        if (text.includes('\r\n')) expect(/[^\r]\n/.test(after), context).toBe(false);
      }
    },
  );
});

describe('a file with a mistake', () => {
  const secret = 's3cr3t';
  const cases: Record<string, [string, number]> = {
    'invalid YAML': [`kind: Config\nusers:\n- name: a\n  user: {token: ${secret}\n`, 5],
    'a list at the top': ['- a\n', 1],
    'a text': [secret, 1],
    'two documents': ['kind: Config\n---\nkind: Config\n', 2],
    'a name twice': [`users:\n- name: a\n- name: b\n- name: a\n  user: {token: ${secret}}\n`, 4],
    'a key twice': ['users: []\nclusters: []\nusers: []\n', 3],
    'another kind': ['apiVersion: v1\nkind: Deployment\n', 2],
    'another version': ['apiVersion: v2\n', 1],
    'users that are no list': ['kind: Config\nusers:\n  a: b\n', 3],
    'a user that is no mapping': ['users:\n- name: a\n  user: text\n', 2],
    'an item that is no mapping': ['users:\n- name: x\n- text\n', 3],
    'a name that is a number': ['contexts:\n- name: 1\n', 2],
    'an alias to nowhere': ['users: *gone\n', 1],
  };
  it.each(Object.entries(cases))('is refused with its line: %s', (name, [text, line]) => {
    try {
      edit(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'kubeconfig-invalid', fields: { line } });
      expect(String(error)).not.toContain(secret);
      // kubectl 1.32 reads these without an error.
      if (['two documents', 'a key twice'].includes(name))
        expect(error).toMatchObject({ hint: expect.not.stringContaining('config view') as string });
    }
  });

  it('is refused when aliases multiply', () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level},`.repeat(10)}]`,
    );
    expect(() => edit(`l0: &l0 x\n${levels.join('\n')}\n`)).toThrow(
      expect.objectContaining({ code: 'kubeconfig-invalid' }),
    );
  });

  it('is refused before a parser is held up by a million entries', () => {
    expect(() => edit(`users:\n${'- name: a\n'.repeat(60_000)}`)).toThrow(
      expect.objectContaining({ code: 'kubeconfig-too-large' }),
    );
  });
});

describe('text that our entry shares with others', () => {
  it('is taken over where it is borrowed', () => {
    const text = edit(
      'users:\n- name: a\n  user: &t\n    token: x\n- name: oidc-ann\n  user: *t\n',
    );
    expect(text).toContain('- name: a\n  user: &t\n    token: x\n');
    expect(read(text).users?.[1]?.user).not.toHaveProperty('token');
  });

  it.each([
    'users:\n- name: oidc-ann\n  user: &t\n    token: x\n- name: a\n  user: *t\n',
    'x: &l\n- name: a\nusers: *l\n',
    'x: &b\n  users:\n  - name: a\n<<: *b\nkind: Config\n',
  ])('is refused where others borrow it: %j', (text) => {
    expect(() => edit(text)).toThrow(expect.objectContaining({ code: 'kubeconfig-not-editable' }));
  });
});

function editSeed(seed: number, text: string): string {
  try {
    return edit(text);
  } catch (cause) {
    throw new Error(`seed ${seed}\n${text}`, { cause });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** All that is not ours; an empty list is as good as none. */
function withoutOurs(config: Config): unknown {
  const foreign = (items: Item[] | null | undefined, name: string): Item[] =>
    (items ?? []).filter((item) => item.name !== name);
  const { 'current-context': current, ...rest } = config;
  return {
    ...rest,
    clusters: foreign(config.clusters, ours.cluster),
    contexts: foreign(config.contexts, ours.context),
    users: foreign(config.users, ours.user),
    current: [null, undefined, '', ours.context].includes(current as string) ? '' : current,
  };
}

function expectOurs(config: Config, context: string): void {
  const find = (items: Item[] | null, name: string): Item | undefined =>
    items?.find((item) => item.name === name);
  const user = find(config.users, ours.user)?.user as Item;
  expect(user.exec, context).toEqual(wanted.user?.value.exec);
  expect(user, context).not.toHaveProperty('token');
  expect(user, context).not.toHaveProperty('auth-provider');
  expect(find(config.clusters, ours.cluster)?.cluster, context).toMatchObject(
    wanted.cluster?.value ?? {},
  );
  expect(find(config.contexts, ours.context)?.context, context).toMatchObject(
    wanted.context?.value ?? {},
  );
}
