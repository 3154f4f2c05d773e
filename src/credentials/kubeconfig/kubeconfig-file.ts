import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BerthError } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import type { Logger } from '../../log.ts';
import { asUser } from '../../system/as-user.ts';
import type { Deadline } from '../../system/deadline.ts';
import { makeBelow } from '../../system/make-below.ts';
import { kubeconfigDigest, type KubeconfigEntries } from './kubeconfig-entries.ts';
import { newKubeconfig } from './new-kubeconfig.ts';
import { readKubeconfig, type KubeconfigSource } from './kubeconfig-source.ts';

export interface KubeconfigUpdate {
  readonly changed: boolean;
  /** For the next login: `knownDigest`. */
  readonly digest: string;
}

/** What an update would do now, as data: `text` is the old file and `newText` the one to come. */
export interface KubeconfigPlan {
  readonly path: string;
  readonly text: string;
  readonly newText: string;
  readonly changed: boolean;
  /** The new file's permission bits. */
  readonly mode: number;
}

/**
 * Sets our entries in a kubeconfig of the user's, as the user, under kubectl's lock and in one step:
 * `options.file`, relative to the home or absolute, or `~/.kube/config`.
 *
 * Where the file and the wishes are those of `knownDigest`, it is read and hashed and that is all.
 * Where nothing has to change, no lock is taken: kubectl does not wait for one but fails. A change is
 * staged before the lock, and the lock held for a second look at the file and the rename; what
 * another process wrote in between is taken up.
 *
 * A new file has mode 0600 and its folder 0700; an old one keeps its mode, without what group and
 * others could do where credentials are set.
 *
 * @throws what `readKubeconfig`, `setKubeconfigEntries`, `withKubeconfigLock` and `stageFile` throw
 */
export function updateKubeconfig(
  user: User,
  wanted: readonly KubeconfigEntries[],
  options: {
    readonly deadline: Deadline;
    readonly log: Logger;
    readonly knownDigest?: string;
    readonly file?: string;
  },
): Promise<KubeconfigUpdate> {
  return asUser(user, async () => {
    const source = await readKubeconfig(user, options.file);
    const digest = kubeconfigDigest(source.contents, wanted);
    const plan = digest === options.knownDigest ? undefined : await planFrom(source, wanted);
    if (plan?.changed !== true) {
      await clearLock(source.path, options.log);
      return { changed: false, digest };
    }
    if (source.mode === undefined) await makeFolder(user, dirname(source.path));
    const done = await replace(source, plan, wanted, user, options);
    return {
      changed: done.changed,
      digest: kubeconfigDigest(Buffer.from(done.newText), wanted),
    };
  });
}

/**
 * What `updateKubeconfig` would do at this moment, without a lock and without a write.
 *
 * @throws as `updateKubeconfig`, but for the lock and the write
 */
export function planKubeconfig(
  user: User,
  wanted: readonly KubeconfigEntries[],
  file?: string,
): Promise<KubeconfigPlan> {
  return asUser(user, async () => planFrom(await readKubeconfig(user, file), wanted));
}

async function planFrom(
  source: KubeconfigSource,
  wanted: readonly KubeconfigEntries[],
): Promise<KubeconfigPlan> {
  const text = decode(source);
  const edited = await edit(text, wanted, source.path);
  const secret = wanted.some(({ user }) => user !== undefined);
  const mode = (source.mode ?? 0o600) & (secret ? 0o600 : 0o777);
  return { path: source.path, text, newText: edited.text, changed: edited.changed, mode };
}

async function edit(
  text: string,
  wanted: readonly KubeconfigEntries[],
  path: string,
): Promise<{ readonly text: string; readonly changed: boolean }> {
  if (text === '' && wanted.length > 0) return { text: newKubeconfig(wanted), changed: true };
  // Loaded here: the YAML parser would cost the logins that need none 10 ms.
  const { setKubeconfigEntries } = await import('./kubeconfig-edit.ts');
  return setKubeconfigEntries(text, wanted, path);
}

/** Puts the planned text in place, or one planned anew if the file is no longer what it was. */
async function replace(
  source: KubeconfigSource,
  plan: KubeconfigPlan,
  wanted: readonly KubeconfigEntries[],
  user: User,
  options: { readonly deadline: Deadline; readonly log: Logger; readonly file?: string },
): Promise<KubeconfigPlan> {
  const [{ stageFile, writeAtomically }, { withKubeconfigLock }] = await Promise.all([
    import('../../system/atomic-file.ts'),
    import('./kubeconfig-lock.ts'),
  ]);
  const staged = await stageFile(source.target, plan.newText, {
    mode: plan.mode,
    // Nothing of the user's is in it yet.
    replaceable: source.contents.length === 0,
  });
  try {
    return await withKubeconfigLock(source.path, options, async () => {
      const now = await readKubeconfig(user, options.file);
      if (sameFile(now, source)) {
        await staged.commit();
        return plan;
      }
      // Somebody wrote between the two looks: what they wrote is the old text now.
      const newer = await planFrom(now, wanted);
      if (newer.changed) await writeAtomically(now.target, newer.newText, { mode: newer.mode });
      return newer;
    });
  } finally {
    await staged.discard();
  }
}

/** A hook that was killed after its rename leaves its lock to a login that needs none. */
async function clearLock(path: string, log: Logger): Promise<void> {
  try {
    await lstat(`${path}.lock`);
  } catch {
    return;
  }
  const { clearDeadLock } = await import('./kubeconfig-lock.ts');
  await clearDeadLock(path, log);
}

function sameFile(now: KubeconfigSource, before: KubeconfigSource): boolean {
  return now.target === before.target && Buffer.compare(now.contents, before.contents) === 0;
}

async function makeFolder({ home }: User, folder: string): Promise<void> {
  try {
    await makeBelow(home, folder);
  } catch (cause) {
    const { writeError } = await import('../../system/atomic-file.ts');
    throw writeError(folder, cause);
  }
}

/** Text whose encoding back gives the same bytes, a byte order mark included. */
function decode({ path, contents }: KubeconfigSource): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(contents);
  } catch (cause) {
    throw new BerthError(`${path} is no UTF-8 text`, {
      code: 'kubeconfig-invalid',
      exit: 'config',
      hint: `See what it is: file ${path}; nothing was written.`,
      fields: { file: path },
      cause,
    });
  }
}
