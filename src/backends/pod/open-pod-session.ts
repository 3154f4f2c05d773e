import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { BerthError } from '../../errors/berth-error.ts';
import { transferProgram } from '../../session/session-request.ts';
import {
  connectionMark,
  groupsText,
  podContainer,
  podName,
  podObject,
} from './objects/pod-object.ts';
import { podSession } from './objects/exec-argv.ts';
import type { LoginSession } from '../backend.ts';
import { groupNamesById } from '../../system/group-names.ts';
import { isTerminal } from '../../system/controlling-terminal.ts';
import type { PodGrant } from './pod-grant-file.ts';
import {
  forwardingStateDir,
  forwardSocketDirs,
  receivedGrant,
  invalidateGrant,
} from './pod-handover.ts';
import { Forwarding } from '../../forwarding/start-forwarding.ts';
import { podNotReadyCodes, type PodTarget } from '../../kube-exec/open-exec.ts';
import { relaySession, terminalSize } from '../../kube-exec/relay-session.ts';
import { IdleWatchdog } from '../../kube-exec/relay-command.ts';

/** Error codes for an invalid grant: its token has expired, or the namespace was deleted. */
const refusing = ['exec-unauthorized', 'exec-forbidden'];

/** How long a command may ignore input before its pod is checked. Milliseconds. */
const silentMs = 20_000;

/** Error codes that may be caused by the end of the pod. */
const maybeLost = ['exec-ended-externally', 'exec-connection-lost', 'exec-failed-in-pod'];

/**
 * Runs a session in the user's pod. If the pod is running, the exec is the only request. This process stays as the relay.
 *
 * @returns the command's exit code; 255 if it is unknown
 * @throws {BerthError} `pod-access-missing`, the errors of `startPod` and `relaySession`
 */
export async function openPodSession(input: LoginSession): Promise<{ readonly exitCode: number }> {
  const { host, profile, log } = input;
  input.welcome();
  const umask = process.umask(0o022);
  const loginHost = hostname();
  const grant = await receivedGrant(host.user, profile.pod.cluster);
  let began = 0;
  const nonce = randomBytes(16).toString('hex');
  const pod = podName({ ...host, profile, loginHost });
  const { server, namespace } = grant;
  const connection = host.connection && connectionMark(host.connection, loginHost);
  const place: PodTarget = { server, pod: { namespace, pod, container: podContainer, connection } };
  const { runtimeDir } = host;
  const [directory, sockets] = [forwardingStateDir(runtimeDir), forwardSocketDirs(runtimeDir)];
  for (const each of [directory, sockets.local, sockets.remote])
    await mkdir(each, { recursive: true, mode: 0o700 });
  const newForwards = (): Forwarding => new Forwarding({ ...input, ...place, directory, sockets });
  let forwards = newForwards();
  const ending = new AbortController();
  const run = async (groups?: string) => {
    await bring(input, place);
    const forwarded = await forwards.before();
    const session = {
      ...{ ...input, umask, nonce, forwarded, groups },
      size: input.request.tty ? terminalSize() : undefined,
    };
    const { opening, ...exec } = podSession({ ...host, connection }, profile, session);
    began = Date.now();
    return relaySession({
      ...{ server, nonce, opening, signal: ending.signal },
      unanswered: endingWhereLost(grant, pod, ending),
      target: { ...exec, ...place.pod },
      handOn: async (signal) => {
        const { signalPod } = await import('./commands-in-pod.ts');
        await signalPod({ ...place, nonce, signal });
      },
      warn: (what) => log.warning(what.message, { code: what.code }),
    });
  };
  /** Other connections use the pod too, which may have been created before the user's groups changed. */
  const shared = profile.lifetime.kind !== 'connection' || host.connection === undefined;
  const { exitCode, reason } = await run(shared ? groupsText(host.user) : undefined)
    .then(async (outcome) => {
      if (outcome.declined === undefined) return outcome;
      await forwards.stop();
      forwards = newForwards();
      const { handleChangedGroups } = await import('./changed-groups.ts');
      if (await handleChangedGroups({ ...input, ...place, had: outcome.declined }))
        await start(input, grant);
      return run();
    })
    .catch(async (thrown: unknown) => {
      if (!(thrown instanceof BerthError)) throw thrown;
      if (refusing.includes(thrown.code)) await invalidateGrant(host.user, grant);
      if (!podNotReadyCodes.includes(thrown.code)) throw thrown;
      forwards.postpone();
      await start(input, grant);
      return run();
    })
    .finally(() => forwards.stop());
  if (reason === undefined) return { exitCode };
  if (!maybeLost.includes(reason.code)) throw reason;
  const { podLoss } = await import('./read-pod.ts');
  const isLater = ({ creationTimestamp = '' }): boolean => Date.parse(creationTimestamp) > began;
  throw (await podLoss(grant, pod, isLater)) ?? reason;
}

/** Ends a silent session whose pod is lost. Compares UIDs, because clocks may differ. */
function endingWhereLost(grant: PodGrant, pod: string, ending: AbortController): IdleWatchdog {
  let first: string | undefined;
  const ask = async (): Promise<void> => {
    const { podLoss } = await import('./read-pod.ts');
    const reason = await podLoss(grant, pod, ({ uid }) => {
      first ??= uid;
      return uid !== first;
    });
    if (reason !== undefined) ending.abort(reason);
  };
  return new IdleWatchdog(silentMs, () => void ask());
}

/** For a file transfer, installs the program if the pod does not have it. */
async function bring(
  { request, toolsDir: directory, profile }: LoginSession,
  place: PodTarget,
): Promise<void> {
  const program = transferProgram(request);
  if (program === undefined) return;
  const { installTransferTools } = await import('./commands-in-pod.ts');
  await installTransferTools({
    ...place,
    program,
    directory,
    signal: AbortSignal.timeout(profile.deadlineMs),
  });
}

/** Creates the pod. On a terminal, the user sees what is being waited for. Loaded only if no pod runs. */
async function start({ host, profile, request }: LoginSession, grant: PodGrant): Promise<void> {
  const [{ startPod }, groupNames] = await Promise.all([
    import('./start-pod.ts'),
    groupNamesById([host.user.gid, ...host.user.groups]),
  ]);
  const { user, connection } = host;
  const pod = podObject({
    ...{ user, profile, namespace: grant.namespace, loginHost: hostname(), groupNames },
    connection,
  });
  const progress = terminalProgress(quietMs[request.kind]);
  try {
    await startPod({ grant, pod, deadlineMs: profile.deadlineMs, onState: progress.show });
  } finally {
    progress.clear();
  }
}

/** Progress is shown after this time; later for a command, because its output matters more. Milliseconds. */
const quietMs = { shell: 1_000, command: 10_000, sftp: 10_000 } as const;

/** A line on the user's terminal that is erased at the end. Nothing is written to a pipe. */
function terminalProgress(afterMs: number): { show: (text: string) => void; clear: () => void } {
  if (!isTerminal(2)) return { show: () => undefined, clear: () => undefined };
  let text = '';
  let shown = false;
  const draw = (): void => {
    writeSync(2, `\r\u001b[Kyour session: ${text} …`);
    shown = true;
  };
  const timer = setTimeout(draw, afterMs);
  return {
    show: (next) => {
      text = next;
      if (shown) draw();
    },
    clear: () => {
      clearTimeout(timer);
      if (shown) writeSync(2, '\r\u001b[K');
    },
  };
}
