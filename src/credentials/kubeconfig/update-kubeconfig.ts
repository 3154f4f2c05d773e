import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { JsonObject } from '../../config/schema/settings.ts';
import { isPlainYaml } from '../../config/schema/yaml-bounds.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import type { Logger } from '../../log.ts';
import { asUser } from '../../system/as-user.ts';
import type { Deadline } from '../../system/deadline.ts';
import { makeDirectoryInHome } from '../../system/user-file.ts';
import type { setKubeconfigEntries } from './kubeconfig-edit.ts';
import {
  entriesOf,
  kubeconfigDigest,
  type KubeconfigEntries,
  kubeconfigLists,
  type ListKey,
} from './kubeconfig-entries.ts';
import { type KubeconfigSource, kubeconfigTooLarge, readKubeconfig } from './read-kubeconfig.ts';
import { blockItem, blockPair } from './text-splices.ts';

export interface KubeconfigUpdate {
  readonly changed: boolean;
  /** `knownDigest` for the next login. */
  readonly digest: string;
}

/** What an update would do now, as data: `text` is the present file and `newText` the new one. */
export interface KubeconfigPlan {
  readonly path: string;
  readonly text: string;
  readonly newText: string;
  readonly changed: boolean;
  /** The new file's permission bits. */
  readonly mode: number;
}

/**
 * Sets our entries in a user's kubeconfig, as the user, under kubectl's lock and atomically:
 * `options.file`, relative to the home or absolute, or `~/.kube/config`.
 *
 * If file and entries match `knownDigest`, the file is only read and hashed. If nothing has to change, no
 * lock is taken, since kubectl fails instead of waiting for one. A change is staged before the lock is
 * taken; under the lock the file is read again and replaced. If another process changed it meanwhile, the
 * change is computed again.
 *
 * A new file has mode 0600 and its directory 0700. An existing one keeps its mode, except that group and
 * others lose access where credentials are set.
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
    const plan =
      digest === options.knownDigest ? undefined : await planFrom(source, wanted, options.deadline);
    if (plan?.changed !== true) {
      await clearLock(source.path, options.log);
      return { changed: false, digest };
    }
    if (source.mode === undefined) await makeDirectory(user, dirname(source.path));
    const done = await replace(source, plan, wanted, user, options);
    return {
      changed: done.changed,
      digest: kubeconfigDigest(Buffer.from(done.newText), wanted),
    };
  });
}

/**
 * What `updateKubeconfig` would do now, without a lock and without a write.
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
  deadline?: Deadline,
): Promise<KubeconfigPlan> {
  const text = decode(source);
  const edited = await edit(text, wanted, source.path, deadline);
  const secret = wanted.some(({ user }) => user !== undefined);
  const mode = (source.mode ?? 0o600) & (secret ? 0o600 : 0o777);
  return { path: source.path, text, newText: edited.text, changed: edited.changed, mode };
}

async function edit(
  text: string,
  wanted: readonly KubeconfigEntries[],
  path: string,
  deadline?: Deadline,
): Promise<{ readonly text: string; readonly changed: boolean }> {
  if (text === '' && wanted.length > 0) return { text: newKubeconfig(wanted), changed: true };
  // Loaded here: the YAML parser takes 10 ms, and most logins need none.
  if (isPlainYaml(text)) {
    const { setKubeconfigEntries } = await import('./kubeconfig-edit.ts');
    return setKubeconfigEntries(text, wanted, path);
  }
  const { inReadingProcess } = await import('../../system/reading-process.ts');
  return inReadingProcess<typeof setKubeconfigEntries>(
    'setKubeconfigEntries',
    [text, wanted, path],
    (why) => kubeconfigTooLarge(path, why),
    // Before the deadline, so that the error names the file.
    deadline && 0.75 * deadline.remaining(),
  );
}

/** Writes the planned text, or a new plan's if the file has changed. */
async function replace(
  source: KubeconfigSource,
  plan: KubeconfigPlan,
  wanted: readonly KubeconfigEntries[],
  user: User,
  options: { readonly deadline: Deadline; readonly log: Logger; readonly file?: string },
): Promise<KubeconfigPlan> {
  const { stageFile, writeAtomically } = await import('../../system/atomic-file.ts');
  const { withKubeconfigLock } = await import('./kubeconfig-lock.ts');
  const staged = await stageFile(source.target, plan.newText, {
    mode: plan.mode,
    // It has no data of the user's yet.
    replaceable: source.contents.length === 0,
  });
  try {
    return await withKubeconfigLock(source.path, options, async () => {
      const now = await readKubeconfig(user, options.file);
      if (now.target === source.target && Buffer.compare(now.contents, source.contents) === 0) {
        await staged.commit();
        return plan;
      }
      // Another process wrote between the two reads: plan again from its text.
      const newer = await planFrom(now, wanted, options.deadline);
      if (newer.changed) await writeAtomically(now.target, newer.newText, { mode: newer.mode });
      return newer;
    });
  } finally {
    await staged.discard();
  }
}

/** Removes the lock of a hook that was killed after its rename. */
async function clearLock(path: string, log: Logger): Promise<void> {
  try {
    await lstat(`${path}.lock`);
  } catch {
    return;
  }
  const { clearDeadLock } = await import('./kubeconfig-lock.ts');
  await clearDeadLock(path, log);
}

async function makeDirectory({ home }: User, directory: string): Promise<void> {
  try {
    await makeDirectoryInHome(home, directory);
  } catch (cause) {
    const { writeError } = await import('../../system/atomic-file.ts');
    throw writeError(directory, cause);
  }
}

/** Decodes UTF-8 without loss, a byte order mark included. */
function decode({ path, contents }: KubeconfigSource): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(contents);
  } catch (cause) {
    throw new BerthError('kubeconfig-invalid', `${path} is not UTF-8 text`, {
      hint: 'Nothing was written. file(1) shows its encoding: convert it to UTF-8.',
      fields: { file: path },
      cause,
    });
  }
}

/**
 * The kubeconfig for a user who has none: equal to the result of `setKubeconfigEntries` for an empty
 * file, without loading the YAML parser, which takes longer than the requests of a first login.
 */
export function newKubeconfig(wanted: readonly KubeconfigEntries[]): string {
  const lists = (Object.keys(kubeconfigLists) as ListKey[]).flatMap((list) => {
    const items = entriesOf(list, wanted).map(({ name, value }): JsonObject => ({
      name,
      [kubeconfigLists[list]]: value,
    }));
    return items.length === 0 ? [] : [`${list}:`, ...items.flatMap((item) => blockItem(item, 0))];
  });
  const context = wanted.find((entry) => entry.currentContextIfUnset !== undefined);
  const current =
    context?.currentContextIfUnset === undefined
      ? []
      : blockPair('current-context', context.currentContextIfUnset, 0);
  return ['apiVersion: v1', 'kind: Config', 'preferences: {}', ...lists, ...current, ''].join('\n');
}
