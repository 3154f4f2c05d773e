import { describe, expect, it } from 'vitest';
import { all } from '../../../../scripts/all-commands.ts';
import type { Command } from '../../../../src/cli/kit/command.ts';
import type { OptionSpec } from '../../../../src/cli/kit/options.ts';
import { refusal } from '../refusal.ts';

const commands = new Map<string, Command>();
const walk = (own: Command, path: readonly string[]): void => {
  const names = [...path, own.command.replace(/ .*/, '')];
  commands.set(names.join(' '), own);
  for (const one of own.commands ?? []) walk(one, names);
};
for (const own of Object.values(all).flat()) walk(own, []);

const optionNamed = (command: string, words: string): OptionSpec => {
  const name = words.slice(2).split(' ', 1)[0] ?? '';
  const found = commands.get(command)?.options?.[name];
  if (found === undefined) throw new Error(`berth ${command} has no --${name}`);
  return found;
};

/** An option with a value that it accepts, and that is not its default. */
function written(command: string, words: string): string[] {
  const { type, choices } = optionNamed(command, words);
  if (words.includes(' ') || type === 'boolean') return words.split(' ');
  return [words, choices?.at(-1) ?? (type === 'number' ? '1' : 'x')];
}

/** A command line that has what the command cannot do without. */
const withWords = (command: string, ...options: string[]): string[] => {
  const required: Readonly<Record<string, string[]>> = {
    ...{ plan: ['--user', 'x'], render: ['--user', 'x'], 'sshd new': ['x', '--port', '1'] },
    'render jupyterhub': ['x'],
  };
  const all = options.flatMap((option) => written(command, option));
  return [...command.split(' '), ...(required[command] ?? []), ...all];
};

/** The options with which others are of use, so that only the rule in question is broken. */
const also = (command: string, option: string, but: string): string[] => {
  const other = commands.get(command)?.needs?.[option];
  return other === undefined || other === but ? [] : [other, ...also(command, other, but)];
};

describe('an option that a command would ignore is refused, with the other one named', () => {
  const needs = [...commands].flatMap(([command, rules]) =>
    Object.entries(rules.needs ?? {}).map((pair) => [command, ...pair] as const),
  );
  it.each(needs)('berth %s: %s needs %s', async (command, option, other) => {
    expect(optionNamed(command, other)).toBeDefined();
    expect(await refusal(...withWords(command, option))).toBe(
      `64: berth: ${option} needs ${other} [usage]`,
    );
  });

  const without = [...commands].flatMap(([command, rules]) =>
    Object.entries(rules.without ?? {}).flatMap(([option, others]) =>
      others.map((other) => [command, option, other] as const),
    ),
  );
  it.each(without)('berth %s: %s, not with %s', async (command, option, other) => {
    const more = [option, other].flatMap((one) => also(command, one, ''));
    expect(await refusal(...withWords(command, option, other, ...more))).toBe(
      `64: berth: ${option} cannot be used with ${other} [usage]`,
    );
  });
});

/** The options of each command; where it can do another thing, those that it uses then. */
const modes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'clusters discover': {
    '': '--config --config-dir --kubeconfig --context --namespace --clusters-dir --ca-dir --issuer --audience --dry-run --allow-none --timeout --output',
  },
  'clusters reap': {
    '--in-cluster':
      '--namespace-selector --pod-selector --max-pods --unused-after --timeout --dry-run --textfile',
    '': '--config --config-dir --cluster --all-clusters --in-cluster --namespace-selector --pod-selector --max-pods --unused-after --timeout --dry-run --textfile',
  },
  'clusters list': { '': '--config --config-dir' },
  completion: { '': '' },
  'config show': { '': '--config --config-dir --effective' },
  doctor: {
    '--start-session': '--config --user --profile --cluster --timeout --output',
    '': '--config --config-dir --user --profile --cluster --timeout --output',
  },
  explain: { '': '' },
  help: { '': '' },
  'images check': { '': '--config-dir --output' },
  'images files': { '': '--to' },
  'images gc': { '': '--config-dir --grace --dry-run --timeout' },
  'images list': { '': '--config-dir' },
  'images pull': {
    '--from-archive': '--config-dir --timeout --yes --dry-run',
    '': '--config-dir --timeout --auth-file --dry-run',
  },
  'init cluster': {
    '': '--yes --dry-run --config --config-dir --name --kubeconfig --context --credentials --apply --kubectl --ood-directory',
  },
  'init login-node': {
    '--backend pod':
      '--yes --dry-run --cluster --kubeconfig --context --namespace-prefix --apply --policies --kubectl --image --user --port --address --mode --start',
    '--backend slurm': '--yes --dry-run --partition --image --user --port --address --mode --start',
    '--backend podman':
      '--yes --dry-run --image --user --port --address --mode --pull --from-archive --start',
  },
  'init portal': {
    '': '--yes --dry-run --config --config-dir --subject-prefix --audience --ca-file --token --exchange-scope --keep-hook --from-osc --ood-directory',
  },
  'ldap-sync': {
    '--in-cluster': '--config --config-dir --dry-run --accept-fewer --timeout --textfile --output',
    '': '--config --config-dir --cluster --dry-run --accept-fewer --timeout --textfile --output',
  },
  'node drain': { '': '--reason --wait --deadline --message --dry-run --config-dir' },
  'node status': { '': '' },
  'node undrain': { '': '--dry-run' },
  plan: {
    '--ssh': '--config --config-dir --user --output --profile --command --tty --port',
    '': '--config --config-dir --user --output --cluster',
  },
  reap: { '': '--config-dir --dry-run --unused --turns --alone --textfile' },
  render: { '': '--config --config-dir --user --cluster --output --show-secrets' },
  'render balancer': {
    '--for kubernetes': '--list --config-dir --kind --check-nodes',
    '': '--list --config-dir --for --balancer --kind --check-nodes --write',
  },
  'render ondemand-app': { '': '--config-dir --kind --command --cluster --backend' },
  'render pages': { '': '--config-dir --host --title --news --metrics --motd --config-map' },
  'render policies': {
    '--engine kyverno': '--parameters --config-dir --output',
    '': '--engine --kubernetes --parameters --config-dir --output',
  },
  'render jupyterhub': {
    '--form component':
      '--config --config-dir --cluster --form --directory --socket --login --ldap-password-file --client-id --client-secret-file --username-claim',
    '--form jobs': '--config --config-dir --form --slurm --jobs --hub-account',
    '': '--config --config-dir --cluster --form --directory --slurm --jobs --hub-account --socket --login --ldap-password-file --client-id --client-secret-file --username-claim',
  },
  'render sbatch': { '': '--config-dir' },
  'sessions end': {
    '': '--user --profile --from --idle-over --all-nodes --config-dir --all --grace --message --dry-run',
  },
  'sessions list': {
    '--output json':
      '--user --profile --from --idle-over --all-nodes --config-dir --watch --usages',
    '': '--user --profile --from --idle-over --all-nodes --config-dir --output --no-headers --watch --usages',
  },
  'sessions show': { '': '--all-nodes --config-dir --output' },
  'slurm-sync': {
    '': '--config --dry-run --yes --accept-fewer --adopt --timeout --textfile --output',
  },
  'sshd certify': {
    '': '--ca --agent --host-key --principal --validity --identity --force --dry-run',
  },
  'sshd check': { '': '--config-dir --sshd' },
  'sshd lint': {
    '': '--sshd-config --user --group --address --port --login --config-dir --pam --sshd --output',
  },
  'sshd list': { '': '' },
  'sshd new': {
    '--mode login-shell':
      '--port --address --banner --host-key --accept --config-dir --sshd --dry-run --overwrite',
    '': '--port --profile --mode --address --banner --host-key --accept --config-dir --sshd --dry-run --overwrite',
  },
  status: { '': '--output' },
  'subid apply': {
    '': '--users-from --first-uid --base --size --reserved --groups --directories --prefix --output --keep-going',
  },
  'subid plan': {
    '': '--users-from --first-uid --base --size --reserved --groups --directories --prefix --output',
  },
  'token rotate': {
    '--kubeconfig': '--context --lifetime --service-account --timeout --dry-run',
    '': '--config --config-dir --cluster --lifetime --service-account --timeout --dry-run',
  },
  'token setup': {
    '': '--config --config-dir --cluster --lifetime --service-account --timeout --dry-run --from',
  },
  metrics: { '': '--config --config-dir --textfile' },
  trace: { '': '--file' },
  verify: { '': '--user --port --identity --only --backend --forced --profile --motd --output' },
  version: { '': '--output' },
};

it('each command is in the table, and each name there is an option of it', () => {
  const own = [...commands].filter(
    ([, { run, companion }]) => run !== undefined || companion !== undefined,
  );
  const names = own.map(([name]) => name);
  expect(Object.keys(modes).toSorted()).toEqual(names.toSorted());
  for (const [command, ofCommand] of Object.entries(modes))
    for (const used of Object.values(ofCommand))
      for (const name of used.split(' ').filter((one) => one !== ''))
        expect(optionNamed(command, name)).toBeDefined();
});

const refusals = [
  /^64: berth: --\S+ (needs|cannot be used with) --\S+( \S+)? \[usage\]$/,
  /^64: berth: --\S+ (cannot be used with --backend \w+: (?:the cluster's nodes|each compute node)|needs --backend \w+)/,
];

describe('a mode refuses each option that it does not use, and so each new one that the table does not have', () => {
  const cases = Object.entries(modes).flatMap(([command, own]) =>
    Object.entries(own).flatMap(([mode, used]) => {
      const known = [...used.split(' '), ...Object.keys(own).map((one) => one.split(' ')[0])];
      return Object.keys(commands.get(command)?.options ?? {})
        .map((name) => `--${name}`)
        .filter((name) => !known.includes(name))
        .map((name) => [command, mode, name] as const);
    }),
  );
  it.each(cases)('berth %s %s: %s', async (command, mode, option) => {
    const chosen = mode === '' ? [] : [mode];
    const refused = await refusal(...withWords(command, ...chosen, option));
    expect(
      refusals.some((pattern) => pattern.test(refused)),
      refused,
    ).toBe(true);
  });
});
