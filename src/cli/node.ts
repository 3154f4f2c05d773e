import type { Argv, CommandModule } from 'yargs';
import { runDir } from '../config/default-settings.ts';
import { asBerthError, BerthError } from '../errors.ts';
import { parseSeconds, timestamp } from './duration.ts';
import { drainedSessions, waitForSessions } from './node-wait.ts';
import { outputOption } from './report-options.ts';
import { readSessions } from './sessions-select.ts';
import { escapedForTerminal, escapeInvisible, reportError, type Terminal } from './terminal.ts';

interface DrainArguments {
  readonly reason: string;
  readonly wait: boolean;
  readonly deadline?: string | undefined;
  readonly message?: string | undefined;
  readonly config?: string | undefined;
}

/** `berth node …`: takes this login node out of service and back. */
export function nodeCommand(terminal: Terminal): CommandModule {
  return {
    command: 'node',
    describe: 'Take this login node out of service for new sessions, and back',
    builder: (yargs) =>
      yargs
        .command(drainCommand(terminal))
        .command(undrainCommand(terminal))
        .command(statusCommand(terminal))
        .demandCommand(1, 1, 'node needs a subcommand: drain, undrain or status')
        .strict(),
    handler: () => undefined,
  };
}

function drainCommand(terminal: Terminal): CommandModule<object, DrainArguments> {
  return {
    command: 'drain',
    describe: 'Accept no new connections of sessions; open sessions go on',
    builder: drainOptions,
    handler: (args) => guarded(terminal, 'drain', () => drain(args, terminal)),
  };
}

function drainOptions(yargs: Argv): Argv<DrainArguments> {
  return yargs
    .option('reason', {
      type: 'string',
      requiresArg: true,
      default: '',
      describe: 'Why, for `berth node status`',
    })
    .option('wait', {
      type: 'boolean',
      default: false,
      describe: 'Wait until no session is left',
    })
    .option('deadline', {
      type: 'string',
      requiresArg: true,
      describe: 'Wait at most this long, such as 2h, then end the sessions that are left',
    })
    .option('message', {
      type: 'string',
      requiresArg: true,
      describe: 'A line for the terminals of all sessions, unless their profile has notices: false',
    })
    .option('config', {
      type: 'string',
      requiresArg: true,
      describe: 'Configuration of sessions [default: /etc/berth/ssh.yml]',
    })
    .example('berth node drain --reason "kernel update"', 'Send new connections elsewhere')
    .example(
      'berth node drain --deadline 2h --message "login1 restarts at 14:00" && systemctl reboot',
      'Tell everybody, wait up to two hours, end what is left, then restart',
    )
    .epilogue(
      "The listeners berth-sshd@NAME are stopped, so the balancer's check fails and new connections go to other nodes. /etc/berth/drain keeps them stopped, also after a restart of the host, until `berth node undrain`. The host's own sshd is left alone. Your own session is not waited for and not ended. Exit status: 0 drained, and with --wait no session is left; 75 something is left.",
    );
}

function undrainCommand(terminal: Terminal): CommandModule {
  return {
    command: 'undrain',
    describe: 'Start the listeners again that drain stopped',
    builder: (yargs) =>
      yargs
        .example('berth node undrain', 'Back into service')
        .epilogue('Listeners that were disabled since the drain are not started.'),
    handler: () => guarded(terminal, 'undrain', () => undrain(terminal)),
  };
}

function statusCommand(terminal: Terminal): CommandModule<object, { readonly output: string }> {
  return {
    command: 'status',
    describe: 'Whether this node is drained, its listeners, and how many sessions are open',
    builder: (yargs) =>
      yargs.option('output', outputOption).example('berth node status', 'Is this node in service?'),
    handler: ({ output }) => guarded(terminal, 'status', () => status(output, terminal)),
  };
}

async function drain(args: DrainArguments, terminal: Terminal): Promise<void> {
  const seconds = args.deadline === undefined ? undefined : parseSeconds(args.deadline, 'deadline');
  assertRoot();
  const now = Math.floor(terminal.now() / 1000);
  const { drainNode } = await import('../ssh/drain/drain-node.ts');
  const state = await drainNode({
    ...{ run: runDir, by: await admin(), reason: args.reason, now },
    ...(seconds === undefined ? {} : { deadline: now + seconds }),
  });
  const names = state.units.map(({ name }) => name).join(', ');
  const open = drainedSessions(await readSessions(terminal, { profiles: false }), state).length;
  terminal.stdout.write(`drained: ${names} accept no new connections; open sessions: ${open}\n`);
  await waitForSessions(state, { ...args, deadlineSeconds: seconds }, terminal);
}

async function undrain(terminal: Terminal): Promise<void> {
  assertRoot();
  const { undrainNode } = await import('../ssh/drain/drain-node.ts');
  const { wasDrained, started, skipped } = await undrainNode({ run: runDir });
  if (!wasDrained) terminal.stdout.write('this node is not drained; nothing was done\n');
  else terminal.stdout.write(`in service again: started ${started.join(', ') || 'no unit'}\n`);
  for (const name of skipped)
    terminal.stderr.write(`not started: ${name}, which was disabled since the drain\n`);
}

async function status(output: string, terminal: Terminal): Promise<void> {
  assertRoot();
  const [{ drainFiles, readDrainState }, { listenerUnits }] = await Promise.all([
    import('../ssh/drain/drain-state.ts'),
    import('../ssh/drain/listener-units.ts'),
  ]);
  const units = await listenerUnits();
  const state = readDrainState(drainFiles.drain);
  const undoing = readDrainState(drainFiles.undo) !== undefined;
  const sessions = (await readSessions(terminal, { profiles: false })).length;
  if (output === 'json') {
    const drained = state === undefined ? null : { ...state, since: timestamp(state.since) };
    const document = { version: 1, drained, undrainIncomplete: undoing, units, sessions };
    terminal.stdout.write(`${escapeInvisible(JSON.stringify(document, null, 2))}\n`);
    return;
  }
  const lines = [
    state === undefined ? 'not drained' : `drained${state.since > 0 ? whoAndWhen(state) : ''}`,
    ...(state === undefined || state.reason === '' ? [] : [`reason: ${state.reason}`]),
    ...(undoing ? ['an undrain was interrupted: run `berth node undrain` again'] : []),
    ...units.map(
      ({ name, active, enabled }) =>
        `${name}: ${active ? 'listening' : 'stopped'}, ${enabled ? 'enabled' : 'not enabled'}`,
    ),
    `open sessions: ${sessions}`,
  ];
  terminal.stdout.write(lines.map((line) => `${escapedForTerminal(line)}\n`).join(''));
}

function whoAndWhen({ since, by }: { readonly since: number; readonly by: string }): string {
  return ` since ${timestamp(since)} by ${by}`;
}

/** Who logged in, by the kernel's audit UID, which sudo keeps. */
async function admin(): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const { userOfUid } = await import('../identity/user-of-uid.ts');
  const text = await readFile('/proc/self/loginuid', 'latin1').catch(() => '');
  const uid = /^[0-9]+$/.test(text) ? Number(text) : 0;
  // AUDIT_UID_UNSET: no login, such as a timer.
  return uid === 0 || uid === 0xffff_ffff ? 'root' : (userOfUid(uid)?.name ?? `UID ${uid}`);
}

function assertRoot(): void {
  if (process.geteuid?.() === 0) return;
  throw new BerthError('only root can run `berth node`', {
    code: 'not-root',
    hint: 'Run it with sudo.',
  });
}

async function guarded(terminal: Terminal, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, `berth node ${what}`));
  }
}
