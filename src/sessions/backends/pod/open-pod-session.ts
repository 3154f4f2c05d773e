import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { expectBerthError } from '../../../system/errors/berth-error.ts';
import { sessionId } from '../../../system/program/session-id.ts';
import { transferProgram } from '../../request/session-request.ts';
import { groupsText, podContainer, podName, podObject } from './objects/pod-object.ts';
import { podSession } from './objects/exec-argv.ts';
import type { LoginSession } from '../backend.ts';
import { groupNamesById } from '../../../system/group-names.ts';
import { terminalProgress } from '../../../system/terminal-progress.ts';
import type { PodGrant } from './pod-grant-file.ts';
import { receivedGrant, invalidateGrant } from './pod-handover.ts';
import { Forwarding } from '../../forwarding/start-forwarding.ts';
import { openExec, podNotReadyCodes, type PodTarget } from '../../exec/open-exec.ts';
import { relaySession, terminalSize } from '../../exec/relay-session.ts';
import { IdleWatchdog } from '../../exec/relay-command.ts';
import type { ForwardingTarget } from '../../forwarding/forwarder.ts';
import { ExecStream } from '../../exec/exec-stream.ts';

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
  const { host, profile } = input;
  input.onBeforeStart();
  const umask = process.umask(0o022);
  const loginHost = hostname();
  const connection = host.connection && sessionId(host.connection, loginHost);
  const received = receivedGrant(host.user, profile.pod.cluster);
  const server = { ...received.server, session: connection };
  const grant = { ...received, server };
  const { namespace } = grant;
  let began = 0;
  const nonce = randomBytes(16).toString('hex');
  const pod = podName({ ...host, profile, loginHost });
  const place: PodTarget = { server, pod: { namespace, pod, container: podContainer, connection } };
  const newForwards = (): Forwarding =>
    new Forwarding({ ...input, target: forwardingToPod(place) });
  let forwards = newForwards();
  const ending = new AbortController();
  const run = async (groups?: string) => {
    await ensureTransferTool(input, place);
    const forwarded = await forwards.before();
    const session = {
      ...input,
      umask,
      nonce,
      forwarded,
      groups,
      size: input.request.tty ? terminalSize() : undefined,
    };
    const { opening, ...exec } = podSession({ ...host, connection }, profile, session);
    began = Date.now();
    input.onStarted();
    if (hasLimits) void noteLimits(input, grant, pod);
    return relaySession({
      server,
      nonce,
      opening,
      signal: ending.signal,
      unanswered: endingWhereLost(grant, pod, ending),
      target: { ...exec, ...place.pod },
      handOn: async (signal) => {
        const { signalPod } = await import('./commands-in-pod.ts');
        await signalPod({ ...place, nonce, signal });
      },
    });
  };
  const { idleMs, hardMs } = profile.timeouts;
  const hasLimits = (idleMs ?? hardMs) !== undefined;
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
      expectBerthError(thrown);
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

/** Says for the reaper when this session ends. The cluster is asked beside the session, and only for a time limit. */
async function noteLimits(
  { host, profile }: LoginSession,
  grant: PodGrant,
  pod: string,
): Promise<void> {
  const { writeLimitNote } = await import('../limit-notes.ts');
  const { podEnd } = await import('./read-pod.ts');
  const endsAt = profile.timeouts.hardMs === undefined ? undefined : await podEnd(grant, pod);
  await writeLimitNote(host, { profile: profile.name, place: `pod ${pod}`, endsAt });
}

/** For a file transfer, installs the program if the pod does not have it. */
async function ensureTransferTool(
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
    user,
    profile,
    namespace: grant.namespace,
    loginHost: hostname(),
    groupNames,
    connection,
  });
  const progress = terminalProgress(request.kind);
  try {
    await startPod({ grant, pod, deadlineMs: profile.deadlineMs, onState: progress.show });
  } finally {
    progress.clear();
  }
}

/** A pod as the place to which connections are forwarded. Its `start` has the errors of `openExec`. */
export function forwardingToPod({ server, pod }: PodTarget): ForwardingTarget {
  return {
    name: `${server.url} ${pod.namespace} ${pod.pod}`,
    notReady: podNotReadyCodes,
    start: async (argv, sink) =>
      new ExecStream(await openExec({ server, target: { ...pod, argv, tty: false } }), sink),
  };
}
