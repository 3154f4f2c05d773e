import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { entryLine } from '../../system/identity/subordinate-file.ts';
import { fileNames, type SubordinateFileName } from './rules/subordinate-input.ts';
import { assertRoot } from '../../system/as-user.ts';
import { stageFile, type StagedFile } from '../../system/atomic-file.ts';
import { ifExists, realPathIfPresent } from '../../system/if-present.ts';
import { withShadowLock } from './shadow-lock.ts';
import { readAccounts } from './read-accounts.ts';
import {
  createStorageDirs,
  planSubidsForAccounts,
  type SubidInput,
  type SubidPlan,
} from './plan-subids.ts';

export interface ApplyInput extends SubidInput {
  /** Assigns ranges even if some users cannot get one. */
  readonly keepGoing: boolean;
}

export interface SubidResult {
  readonly plan: SubidPlan;
  /** False if nothing was written because of a problem. */
  readonly done: boolean;
}

/**
 * Applies the plan of `planSubids`, computed again after the files are locked. Each file is replaced atomically, and both
 * only after both are complete on disk. After a kill between the two, the next run adds what the second one lacks.
 *
 * @throws {BerthError} `not-root`; the errors of `readAccounts`, `withShadowLock` and `stageFile`
 */
export async function applySubids(input: ApplyInput): Promise<SubidResult> {
  if (input.prefix === undefined) assertRoot();
  // Accounts are read before the files are locked, because a directory service may be slow.
  const accounts = await readAccounts(input);
  const { prefix = '/' } = input;
  const work = async (): Promise<SubidResult> => {
    const plan = await planSubidsForAccounts(accounts, input);
    if (!input.keepGoing && plan.problems.some(({ user }) => user !== undefined))
      return { plan, done: false };
    await writeFiles(plan);
    return { plan, done: true };
  };
  // In the same order as useradd.
  const { plan, done } = await withShadowLock(join(prefix, 'etc/subuid'), () =>
    withShadowLock(join(prefix, 'etc/subgid'), work),
  );
  if (done && plan.directories !== undefined) createStorageDirs(plan.directories);
  return { plan, done };
}

/** Like the shadow tools, keeps the old contents in `FILE-`. */
async function writeFiles(plan: SubidPlan): Promise<void> {
  const staged: StagedFile[] = [];
  try {
    for (const file of fileNames) if (plan.add[file].length > 0) await stage(plan, file, staged);
    for (const one of staged) await one.commit();
  } finally {
    for (const one of staged) await one.discard();
  }
}

async function stage(
  plan: SubidPlan,
  file: SubordinateFileName,
  staged: StagedFile[],
): Promise<void> {
  const { path, text } = plan.files[file];
  const target = realPathIfPresent(path);
  const status = await ifExists(stat(target));
  const options = {
    mode: (status?.mode ?? 0o644) & 0o7777,
    ...(status && { owner: { uid: status.uid, gid: status.gid } }),
  };
  const after = afterText(text, plan, file);
  staged.push(await stageFile(`${path}-`, Buffer.from(text, 'latin1'), options));
  staged.push(await stageFile(target, Buffer.from(after, 'latin1'), options));
}

/** The old text, unchanged, followed by the new lines. */
function afterText(text: string, { add }: SubidPlan, file: SubordinateFileName): string {
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  return `${text}${separator}${add[file].map((entry) => `${entryLine(entry)}\n`).join('')}`;
}
