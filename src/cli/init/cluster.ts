import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { flowOptions, type FlowArguments } from './init-options.ts';
import { hookEnvFileIn } from '../../init/present-portal.ts';
import { asker, type Question, yesAndNo, yesOrNo } from '../kit/questions.ts';
import { configFileOf, siteOptions, type SiteArguments } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface ClusterArguments extends FlowArguments, SiteArguments {
  readonly name?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly credentials?: string | undefined;
  readonly apply?: string | undefined;
  readonly kubectl?: string | undefined;
  readonly 'ood-directory': string;
}

/** `berth init cluster`: a Kubernetes cluster for the portal. */
export function initClusterCommand(terminal: Terminal): CommandModule<object, ClusterArguments> {
  return {
    command: 'cluster',
    describe: 'Add a Kubernetes cluster to this portal',
    builder: options,
    handler: (args) => run(args, terminal),
  };
}

function options(yargs: Argv): Argv<ClusterArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return siteOptions(flowOptions(yargs))
    .option('name', { ...text, describe: 'Name of the cluster in OnDemand' })
    .option('kubeconfig', {
      ...text,
      describe: 'Kubeconfig of a cluster admin, which is not needed afterwards',
    })
    .option('context', { ...text, describe: 'Context in it [default: the current one]' })
    .option('credentials', {
      ...text,
      choices: ['oidc', 'service-account'],
      describe: 'How users authenticate',
    })
    .option('apply', {
      ...text,
      choices: yesAndNo,
      describe: "Install the hook's account on the cluster and make its token",
    })
    .option('kubectl', {
      ...text,
      describe: 'Path of kubectl, also for OnDemand [default: the first in PATH]',
    })
    .option('ood-directory', {
      ...text,
      default: '/etc/ood/config',
      describe: "Directory of OnDemand's hook.env and clusters.d",
    })
    .example(
      'berth init cluster --name prod --kubeconfig /root/admin.kubeconfig',
      'Ask the rest, and show all changes before they are made',
    )
    .epilogue(
      'Needs root. `berth init portal` sets what the API server expects of tokens. For clusters of Cluster API, `berth clusters discover` is the better command.',
    );
}

async function run(args: ClusterArguments, terminal: Terminal): Promise<void> {
  const [{ clusterSetup }, { presentPortal }, { runSetup }] = await Promise.all([
    import('../../init/cluster-setup.ts'),
    import('../../init/present-portal.ts'),
    import('./run-setup.ts'),
  ]);
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
