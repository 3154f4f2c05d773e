import { runDir } from '../../config/schema/default-settings.ts';
import type { DrainState } from '../../login/drain/drain-state.ts';
import { assertRoot } from '../../system/as-user.ts';
import { command, group } from '../kit/command.ts';
import { flag, text, type ArgumentsOf } from '../kit/options.ts';
import { readSessionSettings, configDirOption } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';
import { openSessions } from '../sessions/select.ts';
import type { NodeStatus } from './node-text.ts';

const drainOptions = {
  reason: text('TEXT', 'Why, for `berth node status`', { default: '' }),
  wait: flag('Wait until no session is left'),
  deadline: text('TIME', 'Wait at most this long, such as 2h, then end the sessions that are left'),
  message: text(
    'TEXT',
    'Message to the terminals of all sessions except your own and those whose profile has notices: false',
  ),
  'dry-run': flag('Print which listeners would be stopped, and stop none'),
  ...configDirOption,
};

const drainCommand = command({
  command: 'drain',
  describe: 'Accept no new connections of sessions; open sessions go on',
  options: drainOptions,
  examples: [
    ['berth node drain --reason "kernel update"', 'Send new connections elsewhere'],
    [
      'berth node drain --deadline 2h --message "login1 restarts at 14:00" && systemctl reboot',
      'Tell everybody, wait up to two hours, end what is left, then restart',
    ],
  ],
  epilogue:
    "The listeners berth-sshd@NAME are stopped, so the balancer's check fails and new connections go to other nodes. /etc/berth/drain keeps them stopped, also after a restart of the host, until `berth node undrain`. The host's own sshd is left alone. Your own session is not waited for and not ended. Exit status: 0 drained, and with --wait no session is left; 75 something is left.",
  run: drain,
});

const undrainCommand = command({
  command: 'undrain',
  describe: 'Start the listeners again that drain stopped',
  options: { 'dry-run': flag('Print which listeners would be started, and start none') },
  examples: [['berth node undrain', 'Back into service']],
  epilogue: 'Listeners that were disabled since the drain are not started.',
  run: async ({ 'dry-run': dryRun }, terminal) => {
    assertRoot();
    const { planUndrain, undrainNode } = await import('../../login/drain/drain-node.ts');
    const { undrainedText } = await import('./node-text.ts');
    const undrained = dryRun ? await planUndrain() : await undrainNode({ run: runDir });
    const { out, err } = undrainedText(undrained, dryRun);
    terminal.stdout.write(out);
    terminal.stderr.write(err);
  },
});

const statusCommand = command({
  command: 'status',
  describe: 'Whether this node is drained, its listeners, and how many sessions are open',
  examples: [['berth node status', 'Is this node in service?']],
  run: status,
});

/** `berth node …`: takes this login node out of service and back. */
export const nodeCommand = group(
  'node',
  'Take this login node out of service for new sessions, and back',
  [drainCommand, undrainCommand, statusCommand],
);

async function drain(args: ArgumentsOf<typeof drainOptions>, terminal: Terminal): Promise<void> {
  const seconds = args.deadline === undefined ? undefined : parseSeconds(args.deadline, 'deadline');
  assertRoot();
  const { wait, message } = args;
  const now = Math.floor(terminal.now() / 1000);
  const { drainNode, planDrain } = await import('../../login/drain/drain-node.ts');
  const { drainedText, drainPlanText } = await import('./node-text.ts');
  const { drainedSessions, waitForSessions } = await import('./node-wait.ts');
  // Before anything is stopped; with a mistake in it, the node is drained all the same.
  const read = await readSessionSettings(args);
  const input = {
    run: runDir,
    by: await admin(),
    reason: args.reason,
    now,
    ...(seconds !== undefined && { deadline: now + seconds }),
  };
  const openAt = async ({ units }: DrainState): Promise<number> =>
    drainedSessions(await openSessions(terminal), units).length;
  if (args['dry-run']) {
    const { running, state } = await planDrain(input);
    const open = await openAt(state);
    const { out, err } = drainPlanText(running, { open, wait, message, seconds }, read.error);
    terminal.stdout.write(out);
    terminal.stderr.write(err);
    return;
  }
  const state = await drainNode(input);
  const open = await openAt(state);
  const waits = wait || seconds !== undefined;
  terminal.stdout.write(drainedText(state, { open, waits }));
  await waitForSessions(
    state,
    { wait, message, files: args, read, deadlineSeconds: seconds },
    terminal,
  );
}

async function status(_args: object, terminal: Terminal): Promise<void> {
  assertRoot();
  const { drainFiles, readDrainState } = await import('../../login/drain/drain-state.ts');
  const { listenerUnits } = await import('../../login/drain/listener-units.ts');
  const { statusText } = await import('./node-text.ts');
  const { drainedSessions } = await import('./node-wait.ts');
  const units = await listenerUnits();
  const state = readDrainState(drainFiles.drain);
  const sessions = await openSessions(terminal);
  // As drain finds them: it does not wait for sessions of a listener that an admin had stopped.
  const drainable = units.filter(({ active, enabled }) => active || enabled);
  const found: NodeStatus = {
    state,
    undrainIncomplete: readDrainState(drainFiles.undo) !== undefined,
    units,
    sessions: sessions.length,
    waitedFor: drainedSessions(sessions, [...drainable, ...(state?.units ?? [])]).length,
  };
  terminal.stdout.write(statusText(found));
}

/** Who logged in, by the kernel's audit UID, which sudo keeps. */
async function admin(): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const { userOfUid } = await import('../../system/identity/nss.ts');
  const text = await readFile('/proc/self/loginuid', 'latin1').catch(() => '');
  const uid = /^[0-9]+$/.test(text) ? Number(text) : 0;
  // AUDIT_UID_UNSET: no login, such as a timer.
  return uid === 0 || uid === 0xffff_ffff ? 'root' : (userOfUid(uid)?.name ?? `UID ${uid}`);
}
