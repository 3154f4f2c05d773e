import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, choice, text } from '../kit/options.ts';
import { type Question, asker, flowOptions, yesAndNo, yesOrNo } from '../kit/questions.ts';
import { configFileOf, siteOptions } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

const options = {
  ...flowOptions,
  ...siteOptions,
  name: text('NAME', 'Name of the cluster in OnDemand'),
  kubeconfig: text('file', 'Kubeconfig of a cluster admin, which is not needed afterwards'),
  context: text('CONTEXT', 'Context in it [default: the current one]'),
  credentials: choice(['oidc', 'service-account'], 'How users authenticate'),
  apply: choice(yesAndNo, "Install the hook's account on the cluster and make its token"),
  kubectl: text('file', 'Path of kubectl, also for OnDemand [default: the first in PATH]'),
  'ood-directory': text('directory', "Directory of OnDemand's hook.env and clusters.d", {
    default: '/etc/ood/config',
  }),
};

/** `berth init cluster`: a Kubernetes cluster for the portal. */
export const initClusterCommand = command({
  command: 'cluster',
  describe: 'Add a Kubernetes cluster to this portal',
  options,
  examples: [
    [
      'berth init cluster --name prod --kubeconfig /root/admin.kubeconfig',
      'Ask the rest, and show all changes before they are made',
    ],
  ],
  epilogue:
    'Needs root. `berth init portal` sets what the API server expects of tokens. For clusters of Cluster API, `berth clusters discover` is the better command.',
  run,
});

async function run(args: ArgumentsOf<typeof options>, terminal: Terminal): Promise<void> {
  const { clusterSetup } = await import('../../setup/init/cluster-setup.ts');
  const { hookEnvFileIn, presentPortal } = await import('../../setup/init/present-portal.ts');
  const { runSetup } = await import('./run-setup.ts');
  const asking = asker('berth init cluster', args, terminal);
  const { name, kubeconfig, credentials, apply, context } = args;
  const answers = await asking.answers(questions, { name, kubeconfig, credentials, apply });
  const config = configFileOf(args);
  const oodDirectory = resolve(args['ood-directory']);
  const present = presentPortal(config);
  const setup = clusterSetup({
    purpose: 'portal',
    name: answers.get('name') ?? '',
    kubeconfig: resolve(answers.get('kubeconfig') ?? ''),
    context,
    credentials: answers.get('credentials') === 'service-account' ? 'service-account' : 'oidc',
    apply: answers.get('apply') === 'yes',
    kubectl: args.kubectl === undefined ? kubectlIn(terminal.env.PATH) : resolve(args.kubectl),
    config,
    clustersDir: join(oodDirectory, 'clusters.d'),
    hookEnv: present.hookEnv ?? hookEnvFileIn(oodDirectory),
    hookKubeconfig: present.hookKubeconfig,
  });
  await runSetup(setup, args, asking, terminal);
}

/** @returns the usual path if there is none */
function kubectlIn(path = ''): string {
  const found = path
    .split(':')
    .map((directory) => join(directory, 'kubectl'))
    .find((file) => isAbsolute(file) && existsSync(file));
  return found ?? '/usr/bin/kubectl';
}

/** The problem of an answer that is no name of a cluster. */
export function clusterName(answer: string): string | undefined {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(answer)
    ? undefined
    : 'must be lower-case letters, digits and hyphens';
}

const questions: readonly Question[] = [
  {
    option: 'name',
    text: 'Name of the cluster in OnDemand',
    problem: clusterName,
  },
  { option: 'kubeconfig', text: 'Kubeconfig of a cluster admin' },
  {
    option: 'credentials',
    text: 'How users authenticate: oidc or service-account',
    fallback: 'oidc',
    problem: (answer) =>
      ['oidc', 'service-account'].includes(answer) ? undefined : 'must be oidc or service-account',
  },
  {
    option: 'apply',
    text: "Install the hook's account on the cluster and make its token",
    fallback: 'yes',
    problem: yesOrNo,
  },
];
