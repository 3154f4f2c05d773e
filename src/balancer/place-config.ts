import { realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { BerthError, isErrno } from '../errors.ts';
import { stageFile, type WriteOptions, writeAtomically } from '../system/atomic-file.ts';
import { assertParentDirectories } from '../system/config-directories.ts';
import { readIfPresent } from '../system/read-if-present.ts';
import { runProgram } from '../system/run-program.ts';
import { isUnchanged } from './rules/checksum-line.ts';

export interface PlaceOptions {
  /** Absolute path of haproxy(1). */
  readonly haproxy: string;
  /** Replace a file that Berth did not write, or that somebody changed. It is kept in any case. */
  readonly overwrite: boolean;
  /** For the name of a kept file. */
  readonly now: Date;
}

/** What `placeConfig` did. `edited`: nothing, because the file is not as Berth wrote it. */
export type PlacedConfig =
  | { readonly change: 'new' }
  | { readonly change: 'unchanged' }
  | { readonly change: 'edited'; readonly before: string }
  | { readonly change: 'changed'; readonly before: string; readonly kept: string };

/** Milliseconds; haproxy takes some ten, and longer for names that do not resolve. */
const patience = 60_000;

/**
 * Puts haproxy's configuration in place, after haproxy itself has accepted it. What it replaces is kept beside it.
 *
 * @throws BerthError `haproxy-missing`, `haproxy-refused`, `config-directory-writable`, and those of `stageFile`
 */
export async function placeConfig(
  path: string,
  text: string,
  { haproxy, overwrite, now }: PlaceOptions,
): Promise<PlacedConfig> {
  assertParentDirectories(path, process.geteuid?.() ?? 0);
  const file = realPath(path);
  const before = await readIfPresent(file);
  if (before === text) return { change: 'unchanged' };
  const own = before === undefined || isUnchanged(before);
  if (!own && !overwrite) return { change: 'edited', before };
  const options = await modeOf(file);
  const staged = await stageFile(file, text, options);
  try {
    await assertAccepted(haproxy, staged.temporary, file);
    if (before === undefined) {
      await staged.commit();
      return { change: 'new' };
    }
    // Berth's own text can be printed again, but nobody can write the edited one again.
    const time = now.toISOString().replaceAll(/[-:.]/g, '');
    const kept = own ? `${file}.former` : `${file}.edited-${time}`;
    await writeAtomically(kept, before, options);
    await staged.commit();
    return { change: 'changed', before, kept };
  } finally {
    await staged.discard();
  }
}

/** A symlink stays, and the file that it leads to is replaced. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return path;
    throw error;
  }
}

/** Owner and mode of the file, if it exists: a site may let only haproxy's group read it. */
async function modeOf(file: string): Promise<WriteOptions> {
  try {
    const { mode, uid, gid } = await stat(file);
    return { mode: mode & 0o777, owner: { uid, gid } };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { mode: 0o644 };
    throw error;
  }
}

/** @param file whose name errors have, instead of the temporary one */
async function assertAccepted(haproxy: string, candidate: string, file: string): Promise<void> {
  const { error, stderr } = await runProgram(haproxy, ['-c', '-f', candidate], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    timeout: patience,
    cwd: '/',
  });
  if (error === undefined) return;
  if (isErrno(error, 'ENOENT', 'EACCES'))
    throw new BerthError(`could not run ${haproxy}`, {
      code: 'haproxy-missing',
      hint: 'Install haproxy 2.6 or later on this host, or give its path with --haproxy.',
      cause: error,
    });
  const alerts = stderr
    .replaceAll(candidate, file)
    .split('\n')
    .flatMap((line) => /^\[ALERT\]\s+\(\d+\) : (?:config : )?(.*\S)/.exec(line)?.[1] ?? []);
  throw new BerthError(`haproxy refuses ${file}: ${alerts.join('; ') || error.message}`, {
    code: 'haproxy-refused',
    hint: 'Correct balancer.yml, or install haproxy 2.6 or later. Nothing was changed.',
    fields: { file },
  });
}
