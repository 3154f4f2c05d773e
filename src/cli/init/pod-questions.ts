import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import type { ClusterAnswers } from '../../init/cluster-setup.ts';
import type { Backend } from '../../init/login-node-profile.ts';
import { clusterName } from './cluster.ts';
import { type Question, yesAndNo, yesOrNo } from '../kit/questions.ts';
import { usageError } from '../../errors/usage-error.ts';

/** Options of `berth init login-node` for sessions in pods. */
export interface PodArguments {
  readonly backend?: string | undefined;
  readonly cluster?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly 'namespace-prefix'?: string | undefined;
  readonly apply?: string | undefined;
  readonly policies?: string | undefined;
  readonly kubectl?: string | undefined;
}

export function podOptions<T>(yargs: Argv<T>): Argv<T & PodArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return yargs
    .option('backend', {
      ...text,
      choices: ['podman', 'pod'] satisfies Backend[],
      describe:
        'podman: sessions are containers on this host; pod: they are pods on a cluster [default: podman]',
    })
    .option('cluster', { ...text, describe: 'Pods: name of the cluster, as on the portal' })
    .option('kubeconfig', {
      ...text,
      describe:
        "Pods: kubeconfig of a cluster admin or, with --apply no, the kubeconfig of the login nodes' ServiceAccount",
    })
    .option('context', { ...text, describe: 'Pods: context in it [default: the current one]' })
    .option('namespace-prefix', {
      ...text,
      requiresArg: false,
      describe: 'Pods: namespace_prefix of OnDemand: what precedes user names in namespaces',
    })
    .option('apply', {
      ...text,
      choices: yesAndNo,
      describe: "Pods: install the login nodes' account on the cluster and request its token",
    })
    .option('policies', {
      ...text,
      choices: yesAndNo,
      describe:
        'Pods: install the admission policies if the cluster has none [default: as --apply]',
    })
    .option('kubectl', { ...text, describe: 'Pods: path of kubectl [default: /usr/bin/kubectl]' });
}

const podOnly = [
  ...['cluster', 'kubeconfig', 'context', 'namespace-prefix', 'apply', 'policies', 'kubectl'],
];
const podmanOnly = ['pull', 'from-archive'];

/** @throws {BerthError} `usage` for an option that the backend does not have */
export function assertOptionsOf(backend: Backend, args: Readonly<Record<string, unknown>>): void {
  const foreign = backend === 'pod' ? podmanOnly : podOnly;
  const given = foreign.filter((option) => args[option] !== undefined);
  if (given.length === 0) return;
  const names = given.map((option) => `--${option}`).join(', ');
  throw usageError(
    'berth init login-node',
    backend === 'pod'
      ? `${names} cannot be used with --backend pod: the cluster's nodes pull the image`
      : `${names} ${given.length === 1 ? 'needs' : 'need'} --backend pod`,
  );
}

/** What an admin of a login node is asked about the cluster, in the place of the image's source. */
export async function podQuestions(name: string): Promise<Question[]> {
  const { presentCluster } = await import('../../init/present-portal.ts');
  const { access, namespacePrefix = '' } = presentCluster(name);
  return [
    {
      ...{ option: 'cluster', text: 'Name of the cluster, as on the portal' },
      ...(name === '' ? {} : { fallback: name }),
      problem: clusterName,
    },
    {
      option: 'kubeconfig',
      text: "Kubeconfig of a cluster admin, or one with the login nodes' account",
      fallback: access?.kubeconfig,
      problem: (answer) => (existsSync(resolve(answer)) ? undefined : 'there is no such file'),
    },
    {
      option: 'namespace-prefix',
      text: 'namespace_prefix of OnDemand: what precedes user names in namespaces',
      fallback: namespacePrefix,
    },
    {
      option: 'apply',
      text: "Is this an admin's kubeconfig? With yes, Berth creates the login nodes' ServiceAccount on the cluster and requests a token for it",
      // A repeated command with an admin's kubeconfig is still with an admin's.
      fallback: (answers) =>
        access?.kubeconfig === resolve(answers.get('kubeconfig') ?? '') ? 'no' : 'yes',
      problem: yesOrNo,
    },
  ];
}

/** @returns what `clusterSetup` needs */
export async function podClusterAnswers(
  answers: ReadonlyMap<string, string>,
  { context, kubectl = '/usr/bin/kubectl' }: PodArguments,
): Promise<ClusterAnswers> {
  const { loginCluster, presentCluster } = await import('../../init/present-portal.ts');
  const name = answers.get('cluster') ?? '';
  const kubeconfig = resolve(answers.get('kubeconfig') ?? '');
  const { access } = presentCluster(name);
  const apply = answers.get('apply') === 'yes';
  // The context that root uses is the account's, not an admin's.
  const own = !apply && access?.kubeconfig === kubeconfig ? access.context : undefined;
  const wanted = context ?? own;
  return loginCluster({
    ...{ name, kubeconfig, kubectl: resolve(kubectl), apply },
    context: wanted,
    namespacePrefix: answers.get('namespace-prefix') ?? '',
  });
}
