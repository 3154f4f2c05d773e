import { resolve } from 'node:path';
import { type Backend, backends } from '../../config/schema/profile/profile.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { assertRoot } from '../../system/as-user.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, choice, list, text } from '../kit/options.ts';
import { asker, flowOptions, splitAnswer, yesAndNo } from '../kit/questions.ts';
import type { Terminal } from '../kit/terminal.ts';

const options = {
  ...flowOptions,
  backend: choice(
    backends,
    "podman: sessions are containers on this host; pod: they are pods on a cluster; slurm: they are in the user's own job on a compute node [default: podman]",
  ),
  cluster: text('cluster', 'Pods: name of the cluster, as on the portal'),
  kubeconfig: text(
    'file',
    "Pods: kubeconfig of a cluster admin or, with --apply no, the kubeconfig of the login nodes' ServiceAccount",
  ),
  context: text('CONTEXT', 'Pods: context in it [default: the current one]'),
  'namespace-prefix': {
    ...({ type: 'string', kind: 'PREFIX' } as const),
    describe: 'Pods: namespace_prefix of OnDemand: what precedes user names in namespaces',
  },
  apply: choice(
    yesAndNo,
    "Pods: install the login nodes' account on the cluster and request its token",
  ),
  policies: choice(
    yesAndNo,
    'Pods: install the admission policies if the cluster has none [default: as --apply]',
  ),
  kubectl: text('file', 'Pods: path of kubectl [default: /usr/bin/kubectl]'),
  partition: text('PARTITION', "Slurm: partition of the jobs [default: Slurm's]"),
  image: text('image', 'Image of the sessions'),
  user: list('user', 'Account that may log in; several: --user alice --user bob'),
  port: text('PORT', "Port of the sessions' own sshd, which should be below 1024 [default: 332]"),
  address: list(
    'address',
    "IP address that the sessions' own sshd listens on, or all; several: --address 192.0.2.1 --address 192.0.2.2",
  ),
  mode: choice(
    ['forced', 'login-shell'],
    'login-shell: Berth becomes the shell of the accounts; forced: a forced command, which their shell runs',
  ),
  pull: choice(yesAndNo, 'Pull the image now'),
  'from-archive': text(
    'file',
    'Load the image from a Docker or OCI archive instead of pulling it from a registry',
  ),
  start: choice(yesAndNo, 'Start the sshd and the timers now'),
};

/** `berth init login-node`: SSH sessions in containers on this host, in pods, or in jobs of Slurm. */
export const initLoginNodeCommand = command({
  command: 'login-node',
  describe: 'Set up sessions in containers, pods or jobs for SSH users on this host',
  options,
  without: { '--pull': ['--from-archive'] },
  examples: [
    ['berth init login-node', 'Ask, show all changes, and ask again before they are made'],
    [
      'berth init login-node --image registry.example.com/hpc/login:9 --user alice --yes',
      'Ask nothing',
    ],
    [
      'berth init login-node --from-archive site.tar --user alice --yes',
      'Without a registry: take the image and its name from the archive',
    ],
    [
      'berth init login-node --backend pod --cluster prod --kubeconfig admin.kubeconfig',
      'Sessions are pods: also prepare the cluster, and ask the rest',
    ],
    [
      'berth init login-node --backend slurm --partition interactive --user alice',
      "Sessions are in the users' own jobs of Slurm",
    ],
    ['berth init login-node --yes --dry-run', 'Print what the defaults would change'],
  ],
  epilogue:
    "Needs root. The host's own sshd, its port and its configuration are not changed. A file that is changed is kept under another name, and the last lines say how to undo each change. It can be run again: what is done is not done twice, and files that you have edited stay.",
  run,
});

/** The options of one backend only. */
const ownOptions: Readonly<Record<Backend, readonly string[]>> = {
  podman: ['pull', 'from-archive'],
  pod: ['cluster', 'kubeconfig', 'context', 'namespace-prefix', 'apply', 'policies', 'kubectl'],
  slurm: ['partition'],
};

const imageIsElsewhere: Readonly<Record<Backend, string>> = {
  podman: '',
  pod: "the cluster's nodes pull the image",
  slurm: 'each compute node needs the image: run `berth images pull` there',
};

/** @throws {BerthError} `usage` for an option that the backend does not have */
function assertOptionsOf(backend: Backend, args: Readonly<Record<string, unknown>>): void {
  for (const [other, options] of Object.entries(ownOptions)) {
    const given = options.filter((option) => args[option] !== undefined);
    if (other === backend || given.length === 0) continue;
    const names = given.map((option) => `--${option}`).join(', ');
    throw usageError(
      'berth init login-node',
      other === 'podman'
        ? `${names} cannot be used with --backend ${backend}: ${imageIsElsewhere[backend]}`
        : `${names} ${given.length === 1 ? 'needs' : 'need'} --backend ${other}`,
    );
  }
}

async function run(args: ArgumentsOf<typeof options>, terminal: Terminal): Promise<void> {
  const { loginNodeSetup } = await import('../../setup/init/login-node-setup.ts');
  const { assertContainersStart, presentAnswers } =
    await import('../../setup/init/login-node-profile.ts');
  const { runSetup } = await import('./run-setup.ts');
  const { stepEnvironment } = await import('./setup-steps.ts');
  const { readImageArchive } = await import('../../setup/images/image-archive.ts');
  const { backendQuestions, loginNodeQuestions, podClusterAnswers } =
    await import('./login-node-questions.ts');
  const { allAddresses } = await import('../../setup/init/host-addresses.ts');
  const { image, user, port, address, mode, pull, start, 'from-archive': file } = args;
  const asking = asker('berth init login-node', args, terminal);
  const present = presentAnswers(args.backend);
  const { backend } = present;
  assertOptionsOf(backend, { ...args });
  assertRoot();
  if (backend === 'podman' && !args['dry-run']) await assertContainersStart();
  const archive = file === undefined ? undefined : await readImageArchive(resolve(file));
  const ofBackend = await backendQuestions(present, args.cluster);
  const questions = loginNodeQuestions(present, archive, asking.asks, ofBackend);
  const { cluster, kubeconfig, apply, 'namespace-prefix': prefix, partition } = args;
  const answers = await asking.answers(questions, {
    image,
    port,
    mode,
    start,
    user: user?.join(' '),
    address: address?.join(' '),
    cluster,
    kubeconfig,
    apply,
    'namespace-prefix': prefix,
    partition,
    pull: archive === undefined ? pull : 'no',
  });
  const setup = await loginNodeSetup(
    {
      backend,
      ...(backend === 'pod' && { cluster: await podClusterAnswers(answers, args) }),
      partition: answers.get('partition') ?? '',
      policies: (args.policies ?? answers.get('apply')) === 'yes',
      image: answers.get('image') ?? '',
      users: splitAnswer(answers.get('user') ?? ''),
      port: Number(answers.get('port')),
      addresses: splitAnswer(answers.get('address') ?? '').filter((one) => one !== allAddresses),
      mode: answers.get('mode') === 'forced' ? 'forced' : 'login-shell',
      pull: answers.get('pull') === 'yes',
      archive,
      start: answers.get('start') === 'yes',
    },
    terminal.toolsDir,
    stepEnvironment(terminal),
  );
  await runSetup(setup, args, asking, terminal);
}
