import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { kindModes } from '../../sshd-kinds/rules/kind-config.ts';
import { assertRoot } from '../../system/as-user.ts';
import type { Backend } from '../../init/login-node-profile.ts';
import { flowOptions, type FlowArguments } from './init-options.ts';
import {
  assertOptionsOf,
  type PodArguments,
  podClusterAnswers,
  podOptions,
  podQuestions,
} from './pod-questions.ts';
import { listOption } from '../kit/report-options.ts';
import { asker, splitAnswer, yesAndNo } from '../kit/questions.ts';
import type { Terminal } from '../kit/terminal.ts';

interface LoginNodeArguments extends FlowArguments, PodArguments {
  readonly image?: string | undefined;
  readonly user?: readonly string[] | undefined;
  readonly port?: string | undefined;
  readonly address?: readonly string[] | undefined;
  readonly mode?: string | undefined;
  readonly pull?: string | undefined;
  readonly 'from-archive'?: string | undefined;
  readonly start?: string | undefined;
}

/** `berth init login-node`: SSH sessions in containers on this host, or in pods. */
export function initLoginNodeCommand(
  terminal: Terminal,
): CommandModule<object, LoginNodeArguments> {
  return {
    command: 'login-node',
    describe: 'Set up sessions in containers or pods for SSH users on this host',
    builder: options,
    handler: (args) => run(args, terminal),
  };
}

function options(yargs: Argv): Argv<LoginNodeArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return podOptions(flowOptions(yargs))
    .option('image', { ...text, describe: 'Image of the sessions' })
    .option('user', {
      ...listOption,
      describe: 'Account that may log in; several: --user alice --user bob',
    })
    .option('port', {
      ...text,
      describe: "Port of the sessions' own sshd, which should be below 1024 [default: 332]",
    })
    .option('address', {
      ...listOption,
      describe:
        "IP address that the sessions' own sshd listens on, or all; several: --address 192.0.2.1 --address 192.0.2.2",
    })
    .option('mode', {
      ...text,
      choices: kindModes,
      describe:
        'login-shell: Berth becomes the shell of the accounts; forced: a forced command, which their shell runs',
    })
    .option('pull', { ...text, choices: yesAndNo, describe: 'Pull the image now' })
    .option('from-archive', {
      ...text,
      describe: 'Load the image from a Docker or OCI archive instead of pulling it from a registry',
    })
    .option('start', {
      ...text,
      choices: yesAndNo,
      describe: 'Start the sshd and the timers now',
    })
    .example('berth init login-node', 'Ask, show all changes, and ask again before they are made')
    .example(
      'berth init login-node --image registry.example.com/hpc/login:9 --user alice --yes',
      'Ask nothing',
    )
    .example(
      'berth init login-node --from-archive site.tar --user alice --yes',
      'Without a registry: take the image and its name from the archive',
    )
    .example(
      'berth init login-node --backend pod --cluster prod --kubeconfig admin.kubeconfig',
      'Sessions are pods: also prepare the cluster, and ask the rest',
    )
    .example('berth init login-node --yes --dry-run', 'Print what the defaults would change')
    .epilogue(
      "Needs root. The host's own sshd, its port and its configuration are not changed. A file that is changed is kept under another name, and the last lines say how to undo each change. It can be run again: what is done is not done twice, and files that you have edited stay.",
    );
}

async function run(args: LoginNodeArguments, terminal: Terminal): Promise<void> {
  const [
    { loginNodeSetup },
    { presentAnswers },
    { runSetup },
    { stepEnvironment },
    { readImageArchive },
    { loginNodeQuestions },
    { allAddresses },
  ] = await Promise.all([
    import('../../init/login-node-setup.ts'),
    import('../../init/login-node-profile.ts'),
    import('./run-setup.ts'),
    import('./setup-programs.ts'),
    import('../../images/image-archive.ts'),
    import('./login-node-questions.ts'),
    import('../../init/host-addresses.ts'),
  ]);
  const { image, user, port, address, mode, pull, start, 'from-archive': file } = args;
  const asking = asker('berth init login-node', args, terminal);
  const present = presentAnswers(args.backend as Backend | undefined);
  const { backend } = present;
  assertOptionsOf(backend, { ...args });
  assertRoot();
  const archive = file === undefined ? undefined : await readImageArchive(resolve(file));
  const pods = backend === 'pod' ? await podQuestions(args.cluster ?? present.cluster) : [];
  const questions = loginNodeQuestions(present, archive, asking.asks, pods);
  const { cluster, kubeconfig, apply, 'namespace-prefix': prefix } = args;
  const answers = await asking.answers(questions, {
    ...{ image, port, mode, start, user: user?.join(' '), address: address?.join(' ') },
    ...{ cluster, kubeconfig, apply, 'namespace-prefix': prefix },
    pull: archive === undefined ? pull : 'no',
  });
  const setup = await loginNodeSetup(
    {
      backend,
      ...(backend === 'pod' ? { cluster: await podClusterAnswers(answers, args) } : {}),
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
