import { hostname } from 'node:os';
import type { CommandModule } from 'yargs';
import { commandGroup } from '../kit/command-group.ts';
import { BerthError } from '../../errors/berth-error.ts';
import type { UserService } from '../../ssh/sessions/list-sessions.ts';
import type { SessionsAndPods } from '../../ssh/sessions/find-sessions.ts';
import type { PodSession } from '../../backends/pod/pod-session.ts';
import { podsDetails } from './pods-output.ts';
import { endCommand } from './end.ts';
import {
  filterOf,
  filterOptions,
  scopeOptions,
  readAll,
  nothingFoundText,
  sessionPositional,
  type FilterArguments,
  type ScopeArguments,
} from './select.ts';
import { sessionsDetails, sessionsText, type SessionsFormat } from './sessions-output.ts';
import type { Terminal } from '../kit/terminal.ts';

interface ListArguments extends FilterArguments, ScopeArguments {
  readonly output: string;
  readonly 'no-headers': boolean;
  readonly watch: boolean;
}

interface ShowArguments extends ScopeArguments {
  readonly session: readonly string[];
  readonly output: string;
}

/** `berth sessions …`: who is on, for root. */
export function sessionsCommand(terminal: Terminal): CommandModule {
  return commandGroup('sessions', 'List, show and end SSH sessions', [
    listCommand(terminal),
    showCommand(terminal),
    endCommand(terminal),
  ]);
}

function listCommand(terminal: Terminal): CommandModule<object, ListArguments> {
  return {
    command: 'list',
    describe: 'Who is on: user, profile, container, since when, idle, from where',
    builder: (yargs) =>
      filterOptions(yargs)
        .options(scopeOptions)
        .option('output', {
          alias: 'o',
          choices: ['text', 'wide', 'json', 'yaml'],
          default: 'text',
          describe: 'Format; wide has more columns, json and yaml are for scripts',
        })
        .option('no-headers', { type: 'boolean', default: false, describe: 'Without the heading' })
        .option('watch', {
          alias: 'w',
          type: 'boolean',
          default: false,
          describe: 'Show the list again every 2 seconds, until Ctrl-C',
        })
        .example('berth sessions list', 'All sessions of this node')
        .example('berth sessions list -A', 'And the pods of sessions on all clusters')
        .example('berth sessions list --idle-over 8h --no-headers', 'Those to ask about')
        .example('berth sessions list --from 192.0.2.0/24 -o json', 'For a script')
        .epilogue(
          'IDLE is the time since the last input at a terminal, as `w` shows it, and at least the time since the client sent any data; - without a terminal. CPU is the time that the running processes of the session have used, MEMORY what they occupy; for a pod, what it uses now, if the cluster has metrics.k8s.io. LOGIN-NODES are those to which the user is connected. Needs root.',
        ),
    handler: (args) => list(args, terminal),
  };
}

function showCommand(terminal: Terminal): CommandModule<object, ShowArguments> {
  return {
    command: 'show <session..>',
    describe: 'Everything about a session',
    builder: (yargs) =>
      yargs
        .positional('session', { ...sessionPositional, demandOption: true })
        .options(scopeOptions)
        .option('output', {
          alias: 'o',
          choices: ['text', 'json', 'yaml'],
          default: 'text',
          describe: 'Format; json and yaml are for scripts',
        })
        .example('berth sessions show alice', 'All sessions of alice')
        .example('berth sessions show 4711', 'The session whose sshd has this PID in syslog')
        .example('berth sessions show u-alice/berth-base', 'The pod of this name'),
    handler: (args) => show(args, terminal),
  };
}

type Found = SessionsAndPods & { readonly services: readonly UserService[] };

async function list(args: ListArguments, terminal: Terminal): Promise<void> {
  const [{ filterAll }, { userServices }] = await Promise.all([
    import('../../ssh/sessions/find-sessions.ts'),
    import('../../ssh/sessions/list-sessions.ts'),
  ]);
  const filter = filterOf(args);
  // A service has no profile, address or terminal.
  const isFiltered = Object.values(filter).some((wanted) => wanted !== undefined);
  const format = args.output as SessionsFormat;
  const view = { format, headings: !args['no-headers'], node: hostname() };
  const isTable = format === 'text' || format === 'wide';
  const read = async (to: Terminal): Promise<Found> => ({
    ...filterAll(await readAll(args, [], to), filter),
    services: isFiltered ? [] : userServices(),
  });
  const textOf = ({ sessions, pods, services }: Found): string =>
    sessionsText(sessions, args['all-nodes'] ? pods : undefined, { ...view, services });
  const isNothing = ({ sessions, pods, services }: Found): boolean =>
    isTable && sessions.length + pods.length + services.length === 0;
  if (!args.watch) {
    const found = await read(terminal);
    if (isNothing(found)) terminal.stderr.write(nothingFoundText(args, 'list'));
    else terminal.stdout.write(textOf(found));
    return;
  }
  if (terminal.stdout.isTTY !== true) throw watchNeedsTerminal();
  const { setTimeout: sleep } = await import('node:timers/promises');
  // Until a signal ends the program, also when the terminal is closed.
  for (;;) {
    // Warnings would be cleared away at once, or fill a file: they are a part of what is shown.
    const said: string[] = [];
    const found = await read({ ...terminal, stderr: { write: (text) => said.push(text) } });
    const now = isNothing(found) ? nothingFoundText(args, 'list') : textOf(found);
    terminal.stdout.write(`\u001b[H\u001b[2J\u001b[3J${now}${said.join('')}`);
    await sleep(2_000);
  }
}

async function show(args: ShowArguments, terminal: Terminal): Promise<void> {
  const { findSessions } = await import('../../ssh/sessions/find-sessions.ts');
  const words = args.session.map(String);
  const { areAllAsked, ...all } = await readAll(args, words, terminal);
  const { sessions, pods } = findSessions(all, words);
  const node = hostname();
  const format = args.output as SessionsFormat;
  const details = (): string =>
    [...(sessions.length > 0 ? [sessionsDetails(sessions, node)] : []), ...podDetails(pods)].join(
      '\n',
    );
  terminal.stdout.write(
    format === 'text'
      ? details()
      : sessionsText(sessions, areAllAsked ? pods : undefined, { format, headings: true, node }),
  );
}

function podDetails(pods: readonly PodSession[]): readonly string[] {
  return pods.length === 0 ? [] : [podsDetails(pods)];
}

function watchNeedsTerminal(): BerthError {
  return new BerthError('--watch needs a terminal on standard output', {
    code: 'usage',
    hint: 'In a script, run `berth sessions list -o json` as often as needed.',
  });
}
