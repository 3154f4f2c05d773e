import { BerthError, type ErrorCode } from '../../../system/errors/berth-error.ts';
import { escapeControl } from '../../../log.ts';
import type { ProgramError } from '../../../system/run-program.ts';

interface Known {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  /** For the user. */
  readonly message: string;
  /** For the admin, where the catalogue is about another cause. */
  readonly hint?: string;
}

/** Podman's answers about a store with which no podman command works until it is repaired. */
export const brokenStores: readonly { readonly pattern: RegExp; readonly code: ErrorCode }[] = [
  // libpod, ErrDBBadConfig: the user's runtime directory is another one since the host got systemd-logind, or lost it.
  { pattern: /database configuration mismatch/i, code: 'container-database-mismatch' },
  // SetupRootless: by the database a container runs, but all processes of the user were killed.
  { pattern: /could not find any running process/i, code: 'container-processes-killed' },
];

/** Error texts of podman and the OCI runtimes for common faults of a host. */
const known: readonly Known[] = [
  ...brokenStores.map(({ pattern, code }) => ({
    pattern,
    code,
    message: 'your session could not be started: your container storage on this machine is broken',
  })),
  {
    pattern: /no valid executable found for OCI runtime|invalid runtime/i,
    code: 'program-missing',
    message: 'sessions cannot be started on this machine: the OCI runtime is missing',
  },
  {
    pattern: /can't stat program/i,
    code: 'program-missing',
    message: 'sessions cannot be started on this machine: the mount program is missing',
  },
  {
    pattern: /container-init binary not found/i,
    code: 'program-missing',
    message:
      'sessions cannot be started on this machine: the init program of containers is missing',
  },
  {
    pattern: /no space left on device|disk quota exceeded/i,
    code: 'container-disk-full',
    message: 'there is no space left for your session on this machine',
  },
  {
    pattern: /image not known|no such image|image.*not found locally/i,
    code: 'image-missing',
    message: 'the image of this session is missing on this machine',
  },
  {
    pattern: /requested access|manifest unknown/i,
    code: 'image-missing',
    message: 'the image of this session is not in its registry, or the registry refuses it',
    hint: 'Look at the image of the profile: `podman pull IMAGE` as root shows what the registry answers.',
  },
  {
    pattern: /pinging container registry|connection refused|i\/o timeout|no such host/i,
    code: 'registry-unreachable',
    message: 'the image of this session could not be pulled: its registry does not answer',
    hint: 'Pull it in advance with `berth images pull`, and set `pull: never` in the profile.',
  },
  {
    pattern: /subuid|subgid|newuidmap|newgidmap|insufficient UIDs|invalid (?:UID|GID) map/i,
    code: 'subordinate-ids-missing',
    message: 'your account has no subordinate IDs on this machine',
  },
  {
    pattern: /cgroup/i,
    code: 'cgroup-not-delegated',
    message: 'podman could not set the CPU, memory or process limits of your session',
  },
  {
    pattern:
      /exec format error|exec user process|failed to execute \/|executable file .* not found/i,
    code: 'image-not-runnable',
    message: 'the image of this session cannot be run on this machine',
  },
  {
    pattern: /OCI runtime error|no such file or directory.*podman-init/i,
    code: 'image-not-runnable',
    message: "podman could not start your session's container",
    hint: 'The cause in the log has what podman and its runtime answered.',
  },
];

/** Turns a failure of podman into one line for the user, with podman's output as the cause. */
export function podmanStartError(
  error: ProgramError,
  stderr: string,
  timeoutMs: number,
): BerthError {
  const output = escapeControl(stderr.trim()).slice(0, 2_000);
  const cause = new Error(output === '' ? error.message : output);
  if (error.killed === true)
    return new BerthError(
      'container-start-deadline',
      `your session did not start within ${timeoutMs / 1000} s`,
      {
        cause,
      },
    );
  if (error.code === 'ENOENT' || error.code === 'EACCES')
    return new BerthError(
      error.path?.endsWith('podman') === true ? 'podman-missing' : 'program-missing',
      `sessions cannot be started on this machine: ${error.path ?? 'podman'} cannot be run`,
      {
        cause,
      },
    );
  const { message, code, hint }: Omit<Known, 'pattern'> = known.find(({ pattern }) =>
    pattern.test(stderr),
  ) ?? { message: 'your session could not be started', code: 'container-not-started' };
  return new BerthError(code, message, { hint, cause });
}
