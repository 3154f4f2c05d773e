import type { Argv, CommandModule } from 'yargs';
import { asBerthError } from '../errors.ts';
import { flowOptions, type FlowArguments } from './init-options.ts';
import { asker, type Question, yesOrNo } from './questions.ts';
import { reportError, type Terminal } from './terminal.ts';

interface LoginNodeArguments extends FlowArguments {
  readonly image?: string | undefined;
  readonly user?: readonly string[] | undefined;
  readonly port?: string | undefined;
  readonly mode?: string | undefined;
  readonly pull?: string | undefined;
  readonly start?: string | undefined;
}

/** `berth init login-node`: SSH sessions in containers on this host. */
export function initLoginNodeCommand(
  terminal: Terminal,
): CommandModule<object, LoginNodeArguments> {
  return {
    command: 'login-node',
    describe: 'Set up container sessions for SSH users on this host',
    builder: options,
    handler: async (args) => {
      try {
        await run(args, terminal);
      } catch (thrown) {
        reportError(terminal, asBerthError(thrown, 'berth init login-node'));
      }
    },
  };
}

function options(yargs: Argv): Argv<LoginNodeArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return flowOptions(yargs)
    .option('image', { ...text, describe: 'Image of the sessions' })
    .option('user', {
      ...text,
      array: true,
      describe: 'Account that may log in; several: --user alice --user bob',
    })
    .option('port', {
      ...text,
      describe: "Port of the sessions' own sshd, which should be below 1024 [default: 332]",
    })
    .option('mode', {
      ...text,
      describe:
        'login-shell: Berth becomes the shell of the accounts; forced: a forced command, which their shell runs',
    })
    .option('pull', { ...text, describe: 'Pull the image now: yes or no' })
    .option('start', { ...text, describe: 'Start the sshd and the timers now: yes or no' })
    .example('berth init login-node', 'Ask, show all changes, and ask again before they are made')
    .example(
      'berth init login-node --image registry.example.com/hpc/login:9 --user alice --yes',
      'Ask nothing',
    )
    .example('berth init login-node --yes --dry-run', 'Print what the defaults would change')
    .epilogue(
      "Needs root. The host's own sshd, its port and its configuration are not changed. A file that is changed is kept under another name, and the last lines say how to undo each change. It can be run again: what is done is not done twice, and files that you have edited stay.",
    );
}

const kinds = ['login-shell', 'forced'] as const;

async function run(args: LoginNodeArguments, terminal: Terminal): Promise<void> {
  const [{ loginNodeSetup, presentAnswers }, { runSetup }, { imageProblem }] = await Promise.all([
    import('../init/login-node-setup.ts'),
    import('./run-setup.ts'),
    import('../config/profile/image-reference.ts'),
  ]);
  const asking = asker('berth init login-node', args.yes, terminal);
  const present = await presentAnswers();
  const questions: Question[] = [
    {
      ...{ option: 'image', text: 'Image of the sessions', fallback: present.image },
      problem: imageProblem,
    },
    {
      ...{ option: 'user', text: 'Accounts that may log in, with blanks between', fallback: '' },
      problem: (answer) =>
        names(answer).every((name) => /^[\w.@-]+\$?$/.test(name))
          ? undefined
          : 'must be names of accounts',
    },
    {
      ...{
        option: 'port',
        text: "Port of the sessions' own sshd, best below 1024",
        fallback: present.port,
      },
      problem: (answer) =>
        /^\d{1,5}$/.test(answer) && Number(answer) >= 1 && Number(answer) <= 65_535
          ? undefined
          : 'must be a port from 1 to 65535',
    },
    {
      option: 'mode',
      text: 'login-shell (Berth becomes the shell of the accounts) or forced',
      fallback: present.mode,
      problem: (answer) =>
        kinds.some((kind) => kind === answer) ? undefined : 'must be login-shell or forced',
    },
    { option: 'pull', text: 'Pull the image now', fallback: 'yes', problem: yesOrNo },
    { option: 'start', text: 'Start the sshd and the timers', fallback: 'yes', problem: yesOrNo },
  ];
  const { image, port, mode, pull, start } = args;
  const given = { image, port, mode, pull, start, user: args.user?.join(' ') };
  const answers = await asking.answers(questions, given);
  const setup = await loginNodeSetup(
    {
      image: answers.get('image') ?? '',
      users: names(answers.get('user') ?? ''),
      port: Number(answers.get('port')),
      mode: answers.get('mode') === 'forced' ? 'forced' : 'login-shell',
      pull: answers.get('pull') === 'yes',
      start: answers.get('start') === 'yes',
    },
    terminal.toolsDir,
  );
  await runSetup(setup, args, asking, terminal);
}

function names(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}
