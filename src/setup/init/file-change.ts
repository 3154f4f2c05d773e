import { dirname } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { ownerAndMode, writeAtomically } from '../../system/atomic-file.ts';
import { linkAs, nameStamp } from '../../system/second-name.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import type { FileStep } from './setup.ts';

/** A file beside what is there. `edited`: Berth's own file, with another text than Berth would write now. */
export interface FileChange extends FileStep {
  readonly change: 'new' | 'changed' | 'edited' | 'unchanged';
  readonly before: string | undefined;
}

/** Compares a file with what is there. @throws {BerthError} `init-file-unsafe`; system errors */
export async function fileChange(step: FileStep): Promise<FileChange> {
  await ownerAndMode(step.path);
  const before = readIfPresent(step.path);
  if (before === undefined) return { ...step, before, change: 'new' };
  if (before === step.text) return { ...step, before, change: 'unchanged' };
  return { ...step, before, change: mayHaveBeenEdited(step, before) ? 'edited' : 'changed' };
}

function mayHaveBeenEdited({ kind, formerTexts = [] }: FileStep, before: string): boolean {
  return kind === 'whole' && !formerTexts.includes(before);
}

/**
 * Puts the new text in place atomically. The former file is kept, before it is replaced.
 *
 * @param now for the name of the kept file
 * @returns the path of the kept file; undefined if there was no file, or it has the new text by now
 * @throws {BerthError} `init-file-unsafe`, `init-file-changed`, `directory-unsafe`, and those of `writeAtomically`
 */
export async function placeFile(
  { path, text, mode, copy, before }: FileChange,
  now: Date,
): Promise<string | undefined> {
  ensureRootDirectory(dirname(path));
  const present = await ownerAndMode(path);
  const meanwhile = readIfPresent(path);
  if (meanwhile === text) return undefined;
  // The admin has agreed to a change of what was there before.
  if (meanwhile !== before)
    throw new BerthError(
      'init-file-changed',
      `${path} was changed by another program after \`berth init\` had shown its own change, and was left as it is`,
      {
        fields: { file: path },
      },
    );
  const kept = before === undefined ? undefined : await keep(path, copy, before, now);
  // A file that is there keeps its owner and mode.
  await writeAtomically(path, text, present ?? { mode });
  return kept;
}

/** A copy in another directory is written; beside the file, a second name is enough. */
async function keep(
  path: string,
  copy: string | undefined,
  before: string,
  now: Date,
): Promise<string> {
  const stamp = nameStamp(now);
  if (copy === undefined) return await linkAs(path, `${path}.${stamp}`);
  const present = readIfPresent(copy);
  if (present === before) return copy;
  const kept = present === undefined ? copy : `${copy}.${stamp}`;
  await writeAtomically(kept, before, { mode: 0o644 });
  return kept;
}
