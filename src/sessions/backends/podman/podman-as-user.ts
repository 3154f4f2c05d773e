import { runDir } from '../../../config/schema/default-settings.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { podmanCommand } from './argv/podman-argv.ts';
import { brokenStores } from './podman-start-errors.ts';
import { withRepairedStore, type PodmanOfUser } from './repair-store.ts';
import { asUserThenRoot } from '../../../system/as-user.ts';
import { hungNotePath } from '../../connections/state-paths.ts';
import { runBounded } from '../../../system/run-bounded.ts';
import type { SessionHost } from '../../request/session-host.ts';

const longestAnswer = 64 * 1024;

/** RLIMIT_DATA: users can replace files that podman reads whole. Bytes. */
const mostMemory = 512 * 1024 * 1024;

/** How long to wait for a login that repairs the store of its user. Milliseconds. */
const lockMs = 2_000;

/** UIDs for which podman timed out in this process: it would time out again. */
const late = new Set<number>();

/**
 * Runs podman as the user with the configuration of their sessions, and discards its standard output. Podman
 * must not run as root on a store that the user can write: the user could make root run programs.
 *
 * A broken store is repaired first.
 *
 * @param timeoutMs After this, podman and its children are killed.
 * @throws {BerthError} `podman-failed`, `podman-timeout`; `lock-timeout`, `container-database-mismatch` and
 *   `container-processes-killed` if a broken store was not repaired
 */
export async function podmanAsUser(
  host: SessionHost,
  args: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const user: PodmanOfUser = {
    podman: (words) => runPodman(host, words, timeoutMs),
    asOwner: (work) => asUserThenRoot(host.user, work),
    timeoutMs: lockMs,
  };
  await withRepairedStore(host, user, () => runPodman(host, args, timeoutMs));
}

async function runPodman(
  host: SessionHost,
  args: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const what = `podman ${args[0] ?? ''} for ${host.user.name}`;
  const { uid, gid } = host.user;
  if (late.has(uid)) throw tooLate(`${what} was skipped: an earlier podman of this user timed out`);
  const call = podmanCommand(host, args);
  const bounded = [`--data=${mostMemory}`, '--core=0', '--', call.file, ...call.args.slice(1)];
  const { ended, hung, stderr } = await runBounded('/usr/bin/prlimit', bounded, {
    env: { ...call.env },
    user: { uid, gid },
    timeoutMs,
    graceMs: 0,
    note: process.geteuid?.() === 0 ? hungNotePath({ run: runDir }, uid, 'podman') : undefined,
    keptLength: longestAnswer,
    failureOutput: true,
  });
  if (ended === 0) return;
  if (hung !== undefined)
    throw tooLate(`${what} was skipped: an earlier one, process ${hung}, survives SIGKILL`);
  if (ended === 'late') {
    late.add(uid);
    throw tooLate(`${what} took more than ${timeoutMs} ms`);
  }
  const reason = stderr.trim() || (typeof ended === 'number' ? `exit code ${ended}` : ended);
  throw new BerthError(
    brokenStores.find(({ pattern }) => pattern.test(stderr))?.code ?? 'podman-failed',
    `${what}: ${reason}`,
    {
      exit: 'temporary',
    },
  );
}

function tooLate(message: string): BerthError {
  return new BerthError('podman-timeout', message);
}
