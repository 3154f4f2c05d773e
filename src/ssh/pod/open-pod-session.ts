import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { Profile } from '../../config/profile/profile.ts';
import { BerthError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { transferProgram } from '../request/transfer-program.ts';
import { groupsText, podContainer, podName, podObject } from './objects/pod-object.ts';
import { podSession } from './objects/exec-argv.ts';
import type { SessionHost } from '../request/session-host.ts';
import type { SessionRequest } from '../request/session-request.ts';
import { namesOfGroups } from '../../system/group-names.ts';
import { isTerminal } from '../../system/is-terminal.ts';
import { terminalSize } from './exec/raw-terminal.ts';
import type { PodAccess } from './pod-grant-file.ts';
import { bridgeFolder, forwardFolders, handedOver, spoilHandover } from './pod-handover.ts';
import { runFolderOf } from '../connections/runtime-dir.ts';
import { Forwards } from './forwarding/forwarding.ts';
import { notYet, type PodPlace } from './exec/open-exec.ts';
import { relaySession } from './exec/relay-session.ts';
import { UnansweredInput } from './exec/idle-watchdog.ts';

export interface PodSessionInput {
  readonly host: SessionHost;
  readonly profile: Profile;
  readonly request: SessionRequest;
  /** The environment that sshd set. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly umask: number;
  /** Directory of the host's programs for file transfer. */
  readonly filesFolder: string;
  readonly log: Logger;
}

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
export async function openPodSession(input: PodSessionInput): Promise<number> {
  const { host, profile, log } = input;
  const access = await handedOver(host.user, profile.pod.cluster);
  let began = 0;
  const nonce = randomBytes(16).toString('hex');
  const pod = podName({ ...host, profile, loginHost: hostname() });
  const { server, namespace } = access;
  const place: PodPlace = {
    server,
    pod: {
      ...{ namespace, pod, container: podContainer },
      ...(host.connection === undefined ? {} : { connection: host.connection }),
    },
  };
  const runFolder = runFolderOf(host.user);
  const [folder, sockets] = [bridgeFolder(runFolder), forwardFolders(runFolder)];
  for (const each of [folder, sockets.local, sockets.remote])
    await mkdir(each, { recursive: true, mode: 0o700 });
  const newForwards = (): Forwards => new Forwards({ ...input, ...place, folder, sockets });
  let forwards = newForwards();
  const ending = new AbortController();
  const run = async (groups?: string) => {
    await bring(input, place);
    const forwarded = await forwards.before();
    const session = {
      ...{ ...input, nonce, forwarded },
      ...(input.request.tty ? { size: terminalSize() } : {}),
      ...(groups === undefined ? {} : { groups }),
    };
    const { opening, ...exec } = podSession(host, profile, session);
    began = Date.now();
    return relaySession({
      ...{ server, nonce, opening, signal: ending.signal },
      unanswered: endingWhereLost(access, pod, ending),
      target: { ...exec, ...place.pod },
      handOn: async (signal) => {
        const { signalPod } = await import('./signal-pod.ts');
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
      const { changedGroups } = await import('./changed-groups.ts');
      if (await changedGroups({ ...input, ...place, had: outcome.declined }))
        await start(input, access);
      return run();
    })
    .catch(async (thrown: unknown) => {
      if (!(thrown instanceof BerthError)) throw thrown;
      if (refusing.includes(thrown.code)) await spoilHandover(host.user, access);
      if (!notYet.includes(thrown.code)) throw thrown;
      forwards.postpone();
      await start(input, access);
      return run();
    })
    .finally(() => forwards.stop());
  if (reason === undefined) return exitCode;
  if (!maybeLost.includes(reason.code)) throw reason;
  const { lostPod } = await import('./pod-loss.ts');
  const isLater = ({ creationTimestamp = '' }): boolean => Date.parse(creationTimestamp) > began;
  throw (await lostPod(access, pod, isLater)) ?? reason;
}

/** Ends a silent session whose pod is lost. Compares UIDs, because clocks may differ. */
function endingWhereLost(access: PodAccess, pod: string, ending: AbortController): UnansweredInput {
  let first: string | undefined;
  const ask = async (): Promise<void> => {
    const { lostPod } = await import('./pod-loss.ts');
    const reason = await lostPod(access, pod, ({ uid }) => {
      first ??= uid;
      return uid !== first;
    });
    if (reason !== undefined) ending.abort(reason);
  };
  return new UnansweredInput(silentMs, () => void ask());
}

/** For a file transfer, installs the program if the pod does not have it. */
async function bring(
  { request, filesFolder: folder, profile }: PodSessionInput,
  place: PodPlace,
): Promise<void> {
  const program = transferProgram(request);
  if (program === undefined) return;
  const { bringFiles } = await import('./install-transfer-tools.ts');
  await bringFiles({ ...place, program, folder, signal: AbortSignal.timeout(profile.deadlineMs) });
}

/** Creates the pod. On a terminal, the user sees what is being waited for. Loaded only if no pod runs. */
async function start(
  { host, profile, request }: PodSessionInput,
  access: PodAccess,
): Promise<void> {
  const [{ startPod }, groupNames] = await Promise.all([
    import('./start-pod.ts'),
    namesOfGroups([host.user.gid, ...host.user.groups]),
  ]);
  const { user, connection } = host;
  const pod = podObject({
    ...{ user, profile, namespace: access.namespace, loginHost: hostname(), groupNames },
    ...(connection === undefined ? {} : { connection }),
  });
  const progress = terminalProgress(quietMs[request.kind]);
  try {
    await startPod({ access, pod, deadlineMs: profile.deadlineMs, onState: progress.show });
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
