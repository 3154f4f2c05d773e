import { runDir } from '../../config/schema/default-settings.ts';
import { hostname } from 'node:os';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { SessionsAndPods } from '../../login/sessions/find-sessions.ts';
import type { UserService } from '../../login/sessions/list-sessions.ts';
import { command, group } from '../kit/command.ts';
import { choice, flag, outputOption, type ArgumentsOf } from '../kit/options.ts';
import type { Terminal } from '../kit/terminal.ts';
import { endCommand } from './end.ts';
import {
  filterOf,
  filterOptions,
  nothingFoundText,
  readAll,
  scopeOptions,
  sessionWords,
} from './select.ts';

const listOptions = {
  ...filterOptions,
  ...scopeOptions,
  output: choice(['text', 'wide', 'json'], 'Format; wide has more columns, json is for scripts', {
    alias: 'o',
    default: 'text',
  }),
  'no-headers': flag('Without the heading'),
  watch: flag('Show the list again every 2 seconds, until Ctrl-C', { alias: 'w' }),
  /** Internal: what the sessions use, as JSON by their IDs. */
  usages: flag('', { hidden: true }),
};

const listCommand = command({
  command: 'list',
  describe: 'Who is on: user, profile, container, since when, idle, from where',
  options: listOptions,
  without: { '--no-headers': ['--output json'] },
  examples: [
    ['berth sessions list', 'All sessions of this node'],
    ['berth sessions list -A', 'And the pods of sessions on all clusters'],
    ['berth sessions list --idle-over 8h --no-headers', 'Those to ask about'],
    ['berth sessions list --from 192.0.2.0/24 -o json', 'For a script'],
  ],
  epilogue:
    'IDLE is the time since the last input at a terminal, as `w` shows it, and at least the time since the client sent any data; - without a terminal. CPU is the time that the running processes of the session have used, MEMORY what they occupy; for a pod, what it uses now, if the cluster has metrics.k8s.io. LOGIN-NODES are those to which the user is connected. Needs root.',
  run: list,
});

const showOptions = { ...scopeOptions, output: outputOption };
const showWords = { session: { ...sessionWords, demandOption: true } } as const;

const showCommand = command({
  command: 'show <session..>',
  describe: 'Everything about a session',
  positionals: showWords,
  options: showOptions,
  examples: [
    ['berth sessions show alice', 'All sessions of alice'],
    ['berth sessions show 4711', 'The session whose sshd has this PID in syslog'],
    ['berth sessions show u-alice/berth-base', 'The pod of this name'],
  ],
  run: show,
});

/** `berth sessions …`: who is on, for root. */
export const sessionsCommand = group('sessions', 'List, show and end SSH sessions', [
  listCommand,
  showCommand,
  endCommand,
]);

type Found = SessionsAndPods & { readonly services: readonly UserService[] };

async function list(args: ArgumentsOf<typeof listOptions>, terminal: Terminal): Promise<void> {
  const { filterAll } = await import('../../login/sessions/find-sessions.ts');
  const { usagesById, userServices } = await import('../../login/sessions/list-sessions.ts');
  if (args.usages) {
    terminal.stdout.write(JSON.stringify(usagesById(runDir)));
    return;
  }
  const { sessionsText } = await import('./sessions-output.ts');
  const filter = filterOf(args);
  // A service has no profile, address or terminal.
  const isFiltered = Object.values(filter).some((wanted) => wanted !== undefined);
  const format = args.output;
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
  if (terminal.stdout.isTTY !== true)
    throw new BerthError('usage', '--watch needs a terminal on standard output', {
      hint: 'In a script, run `berth sessions list -o json` as often as needed.',
    });
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

async function show(
  args: ArgumentsOf<typeof showOptions & typeof showWords>,
  terminal: Terminal,
): Promise<void> {
  const { findSessions } = await import('../../login/sessions/find-sessions.ts');
  const { podsDetails, sessionsDetails, sessionsText } = await import('./sessions-output.ts');
  const words = args.session.map(String);
  const { areAllAsked, ...all } = await readAll(args, words, terminal);
  const { sessions, pods } = findSessions(all, words);
  const node = hostname();
  const format = args.output;
  const details = (): string =>
    [
      ...(sessions.length > 0 ? [sessionsDetails(sessions, node)] : []),
      ...(pods.length > 0 ? [podsDetails(pods)] : []),
    ].join('\n');
  terminal.stdout.write(
    format === 'text'
      ? details()
      : sessionsText(sessions, areAllAsked ? pods : undefined, { format, headings: true, node }),
  );
}
