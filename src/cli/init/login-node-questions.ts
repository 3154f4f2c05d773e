import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { imageProblem } from '../../config/schema/profile/image-reference.ts';
import type { ImageArchive } from '../../setup/images/image-archive.ts';
import { accountState } from '../../setup/init/account-state.ts';
import type { ClusterAnswers } from '../../setup/init/cluster-setup.ts';
import {
  addressProblem,
  allAddresses,
  hasSeveralAddresses,
  hostAddresses,
} from '../../setup/init/host-addresses.ts';
import type { PresentAnswers } from '../../setup/init/login-node-profile.ts';
import { group } from '../../setup/init/login-node-setup.ts';
import { kindModes } from '../../setup/sshd-kinds/rules/kind-config.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { type Question, splitAnswer, yesOrNo } from '../kit/questions.ts';
import { clusterName } from './cluster.ts';

/**
 * What an admin of a login node is asked.
 *
 * @param asks whether there is an admin to ask: the address is asked for only where there are several
 * @param ofBackend the questions about where the sessions run
 */
export function loginNodeQuestions(
  present: PresentAnswers,
  archive: ImageArchive | undefined,
  asks: boolean,
  ofBackend: readonly Question[],
): Question[] {
  const address: Question = {
    option: 'address',
    text: `Addresses for the sessions' own sshd, separated by spaces (this host has ${hostAddresses().join(', ')}), or ${allAddresses}`,
    fallback: present.addresses.length === 0 ? allAddresses : present.addresses.join(' '),
    problem: addressesProblem,
    asked: asks && hasSeveralAddresses(),
  };
  return [
    {
      option: 'image',
      text: 'Image of the sessions',
      ...defaultImage(present.image, archive),
      problem: imageProblem,
    },
    {
      option: 'user',
      text: 'Accounts that may log in, separated by spaces',
      fallback: '',
      problem: async (answer) => {
        const names = splitAnswer(answer);
        if (!names.every((name) => /^[\w.@-]+\$?$/.test(name))) return 'must be names of accounts';
        await accountState(names, group);
        return undefined;
      },
    },
    {
      option: 'port',
      text: "Port of the sessions' own sshd, best below 1024",
      fallback: present.port,
      problem: (answer) =>
        /^\d{1,5}$/.test(answer) && Number(answer) >= 1 && Number(answer) <= 65_535
          ? undefined
          : 'must be a port from 1 to 65535',
    },
    address,
    {
      option: 'mode',
      text: 'login-shell (Berth becomes the shell of the accounts) or forced',
      fallback: present.mode,
      problem: (answer) =>
        kindModes.some((mode) => mode === answer) ? undefined : 'must be login-shell or forced',
    },
    ...ofBackend,
    {
      option: 'start',
      text: 'Start the sshd and the timers',
      fallback: 'yes',
      problem: yesOrNo,
      asked: hasSystemd(),
    },
  ];
}

/** The archive's only image, or the present one. */
function defaultImage(present: string, archive: ImageArchive | undefined) {
  if (archive === undefined || archive.names.includes(present)) return { fallback: present };
  const [name, another] = archive.names;
  return name === undefined || another !== undefined ? {} : { fallback: name };
}

function addressesProblem(answer: string): string | undefined {
  if (answer === allAddresses) return undefined;
  const problems = splitAnswer(answer).map((address) => {
    const problem = addressProblem(address);
    if (problem === undefined || address === answer) return problem;
    return `${address} ${problem}`;
  });
  return problems.length === 0
    ? `must be IP addresses of this host, or ${allAddresses}`
    : problems.find((problem) => problem !== undefined);
}

/** What an admin of a login node is asked about where the sessions run. @param cluster the one on the command line */
export async function backendQuestions(
  present: PresentAnswers,
  cluster = present.cluster,
): Promise<Question[]> {
  switch (present.backend) {
    case 'podman':
      return [{ option: 'pull', text: 'Pull the image now', fallback: 'yes', problem: yesOrNo }];
    case 'pod':
      return podQuestions(cluster);
    case 'slurm':
      return [
        {
          option: 'partition',
          text: "Partition of the jobs, or nothing for Slurm's default",
          fallback: present.partition,
          problem: (answer) =>
            /^[\w.,-]*$/.test(answer) ? undefined : 'must be the name of a partition',
        },
      ];
  }
}

async function podQuestions(name: string): Promise<Question[]> {
  const { presentCluster } = await import('../../setup/init/present-portal.ts');
  const { access, namespacePrefix = '' } = presentCluster(name);
  return [
    {
      option: 'cluster',
      text: 'Name of the cluster, as on the portal',
      ...(name !== '' && { fallback: name }),
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
  {
    context,
    kubectl = '/usr/bin/kubectl',
  }: { readonly context?: string | undefined; readonly kubectl?: string | undefined },
): Promise<ClusterAnswers> {
  const { loginCluster, presentCluster } = await import('../../setup/init/present-portal.ts');
  const name = answers.get('cluster') ?? '';
  const kubeconfig = resolve(answers.get('kubeconfig') ?? '');
  const { access } = presentCluster(name);
  const apply = answers.get('apply') === 'yes';
  // The context that root uses is the account's, not an admin's.
  const own = !apply && access?.kubeconfig === kubeconfig ? access.context : undefined;
  const wanted = context ?? own;
  return loginCluster({
    name,
    kubeconfig,
    kubectl: resolve(kubectl),
    apply,
    context: wanted,
    namespacePrefix: answers.get('namespace-prefix') ?? '',
  });
}
