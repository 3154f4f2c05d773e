import { BerthError } from '../errors.ts';

/** What the kernel asks for when it judges file access: the part of a `User` that is needed here. */
export interface Credentials {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** Sections wait for each other: who the process is holds for all its threads at once. */
let lastSection: Promise<unknown> = Promise.resolve();
let waiting = 0;

/** Whom the process is at the moment, where that is not root. */
let worn: { readonly user: Credentials; readonly before: Before } | undefined;

/**
 * Runs file work with the user's effective UID, GID and groups: a home on a root_squash file system
 * lets nobody else in, and whatever a link in a home leads to is opened with the user's own rights.
 *
 * `node:fs/promises` is meant: glibc changes the credentials of every thread, libuv's pool too, and
 * a home that hangs blocks one of those threads and not the event loop with its deadline. The real
 * UID stays root's, so the user cannot signal or trace the process.
 *
 * Each change of credentials interrupts every thread, so one section's user is kept for the next one
 * of the same turn of the event loop; only `asRoot` is sure to be root.
 *
 * Inside a section: start no process, open no file of root's, and begin no other section, which
 * would wait for this one for ever.
 *
 * @throws `not-root` where the process is neither root nor that user
 */
export function asUser<T>(user: Credentials, work: () => Promise<T>): Promise<T> {
  // The effective UID would be a guess here: another section may be running at this moment.
  const realUid = process.getuid?.();
  if (realUid !== 0) {
    if (realUid === user.uid) return work();
    return Promise.reject(notRoot(`files of ${user.name} cannot be written`));
  }
  return inTurn(() => {
    wear(user);
    return work();
  });
}

/**
 * Runs file work of root's in its turn, never in the middle of a section for a user.
 *
 * @throws `not-root`
 */
export function asRoot<T>(work: () => Promise<T> | T): Promise<T> {
  return inTurn(async () => {
    takeOff();
    assertRoot();
    return await work();
  });
}

/**
 * Runs file work as whoever started the process, never in the middle of a section for a user: what
 * the configuration names is read by root in a hook, and by the admin in a plan.
 */
export function asOurselves<T>(work: () => Promise<T> | T): Promise<T> {
  return inTurn(async () => {
    takeOff();
    return await work();
  });
}

/** @throws `not-root` where the effective user is not root, inside a user's section too */
export function assertRoot(): void {
  if (process.geteuid?.() !== 0) throw notRoot('this needs root');
}

function inTurn<T>(section: () => Promise<T>): Promise<T> {
  waiting += 1;
  const run = lastSection.then(section);
  lastSection = run
    .catch(() => undefined)
    .finally(() => {
      waiting -= 1;
      setImmediate(() => {
        if (waiting === 0) takeOff();
      });
    });
  return run;
}

function wear(user: Credentials): void {
  if (worn?.user === user) return;
  takeOff();
  worn = { user, before: become(user) };
}

function takeOff(): void {
  if (worn === undefined) return;
  becomeAgain(worn.before);
  worn = undefined;
}

interface Before {
  readonly egid: number;
  readonly groups: readonly number[];
}

function become(user: Credentials): Before {
  assertRoot();
  const before = { egid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  try {
    // The UID last: without it the groups could not be set.
    process.setgroups?.([...user.groups]);
    process.setegid?.(user.gid);
    process.seteuid?.(user.uid);
  } catch (cause) {
    becomeAgain(before);
    throw cause;
  }
  return before;
}

function becomeAgain(before: Before): void {
  process.seteuid?.(0);
  process.setegid?.(before.egid);
  process.setgroups?.([...before.groups]);
}

function notRoot(attempted: string): BerthError {
  return new BerthError(attempted, {
    code: 'not-root',
    exit: 'permission',
    hint: 'Run it as root; OnDemand runs its pre-PUN hook as root already.',
  });
}
