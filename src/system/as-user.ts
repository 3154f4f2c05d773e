import { BerthError } from './errors/berth-error.ts';

/** The part of a `User` that the kernel uses for file access. */
export interface Credentials {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** Sections run one after another, because credentials are process-wide. */
let lastSection: Promise<unknown> = Promise.resolve();
let waiting = 0;

/** The user whose credentials the process has at the moment, if it is not root. */
let current: { readonly user: Credentials; readonly before: Before } | undefined;

/**
 * Runs file operations with the user's effective UID, GID and groups. A home on a root_squash file system is accessible
 * only to its owner, and the targets of symlinks in a home are opened with the user's permissions.
 *
 * Use it with `node:fs/promises`: glibc changes the credentials of all threads, including libuv's pool, and a home that
 * hangs blocks one of those threads, not the event loop with its deadline. The real UID stays root's, so the user cannot
 * signal or trace the process.
 *
 * Each change of credentials interrupts all threads, so they are kept for the next section in the same turn of the event
 * loop; only `asRoot` guarantees root's.
 *
 * Inside a section, do not start a process, do not open root's files, and do not enter another section, which would
 * deadlock.
 *
 * @throws {BerthError} `not-root` if the process is neither root nor that user
 */
export function asUser<T>(user: Credentials, work: () => Promise<T>): Promise<T> {
  // Not the effective UID, because another section may be running at this moment.
  const realUid = process.getuid?.();
  if (realUid !== 0) {
    if (realUid === user.uid) return work();
    const attempted = `files of ${user.name} cannot be written`;
    const hook = 'Run it as root, for example with sudo. OnDemand runs its pre-PUN hook as root.';
    return Promise.reject(notRoot(attempted, hook));
  }
  return inTurn(() => {
    assumeCredentials(user);
    return work();
  });
}

/**
 * Runs file operations as root, never during a section for a user.
 *
 * @throws {BerthError} `not-root`
 */
export function asRoot<T>(work: () => Promise<T> | T): Promise<T> {
  return inTurn(async () => {
    dropCredentials();
    assertRoot();
    return await work();
  });
}

/**
 * Runs file operations as the user that started the process, never during a section for another user. The files that the
 * configuration names are read by root in a hook, and by the admin in a plan.
 */
export function asInvoker<T>(work: () => Promise<T> | T): Promise<T> {
  return inTurn(async () => {
    dropCredentials();
    return await work();
  });
}

/**
 * @param message what only root can do
 * @throws {BerthError} `not-root` if the effective user is not root, also inside a user's section
 */
export function assertRoot(message = 'this needs root'): void {
  if (process.geteuid?.() !== 0) throw notRoot(message);
}

function inTurn<T>(section: () => Promise<T>): Promise<T> {
  waiting += 1;
  const run = lastSection.then(section);
  lastSection = run
    .catch(() => undefined)
    .finally(() => {
      waiting -= 1;
      setImmediate(() => {
        if (waiting === 0) dropCredentials();
      });
    });
  return run;
}

function assumeCredentials(user: Credentials): void {
  if (current?.user === user) return;
  dropCredentials();
  current = { user, before: become(user) };
}

function dropCredentials(): void {
  if (current === undefined) return;
  restoreCredentials(current.before);
  current = undefined;
}

interface Before {
  readonly egid: number;
  readonly groups: readonly number[];
}

function become(user: Credentials): Before {
  assertRoot();
  const before = { egid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  try {
    // The UID last: afterwards the groups could not be set.
    process.setgroups?.([...user.groups]);
    process.setegid?.(user.gid);
    process.seteuid?.(user.uid);
  } catch (cause) {
    restoreCredentials(before);
    throw cause;
  }
  return before;
}

function restoreCredentials(before: Before): void {
  process.seteuid?.(0);
  process.setegid?.(before.egid);
  process.setgroups?.([...before.groups]);
}

function notRoot(message: string, hint = 'Run it as root, for example with sudo.'): BerthError {
  return new BerthError('not-root', message, { hint });
}

/**
 * As `asUser`, but the process is root again when it returns, for callers that continue with root's work without `asRoot`.
 */
export async function asUserThenRoot<T>(user: Credentials, work: () => Promise<T>): Promise<T> {
  try {
    return await asUser(user, work);
  } finally {
    // A process of the user itself was never root.
    if (process.getuid?.() === 0) await asRoot(() => undefined);
  }
}
