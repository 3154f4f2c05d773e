import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isUnchanged } from '../../system/text/checksum-line.ts';
import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { stageFile, type WriteOptions, writeAtomically } from '../../system/atomic-file.ts';
import { assertParentDirectories } from '../../system/config-directories.ts';
import { realPathIfPresent } from '../../system/if-present.ts';
import { runProgram } from '../../system/run-program.ts';

/** In its first line. */
export const haproxyMark = '# Written by `berth render balancer`. To change it, edit balancer.yml.';

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
const timeoutMs = 60_000;

/**
 * Puts haproxy's configuration in place, after haproxy itself has accepted it. What it replaces is kept beside it.
 *
 * @throws BerthError `haproxy-missing`, `haproxy-refused`, `config-directory-writable`, `balancer-file-unsafe`, and those of `stageFile`
 */
export async function placeConfig(
  path: string,
  text: string,
  { haproxy, overwrite, now }: PlaceOptions,
): Promise<PlacedConfig> {
  assertParentDirectories(path, process.geteuid?.() ?? 0);
  const file = realPathIfPresent(path);
  // In a directory with the sticky bit, a symlink may have been replaced since.
  assertParentDirectories(file, process.geteuid?.() ?? 0);
  const present = await readPresent(file);
  const before = present?.text;
  if (before === text) return { change: 'unchanged' };
  const own = before === undefined || isUnchanged(haproxyMark, before);
  if (!own && !overwrite) return { change: 'edited', before };
  const options = present?.options ?? { mode: 0o644 };
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

interface PresentFile {
  readonly text: string;
  /** Its owner and mode: a site may let only haproxy's group read it. */
  readonly options: WriteOptions;
}

/**
 * The file that is there, if it is a regular one of root or of the caller. In a directory with the sticky bit other users
 * can make one before us, also a FIFO, on which opening would wait, or a symlink.
 *
 * @throws BerthError `balancer-file-unsafe`, and system errors
 */
async function readPresent(file: string): Promise<PresentFile | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const opened = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY).catch(
    (error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined;
      // A symlink, also one that leads nowhere; a socket.
      if (isErrno(error, 'ELOOP', 'ENXIO')) throw unsafe(file, 'is no regular file');
      throw error;
    },
  );
  if (opened === undefined) return undefined;
  try {
    const status = await opened.stat();
    const { mode, uid, gid } = status;
    if (!status.isFile()) throw unsafe(file, 'is no regular file');
    if (uid !== 0 && uid !== process.geteuid?.()) throw unsafe(file, `belongs to UID ${uid}`);
    const text = await opened.readFile('utf8');
    return { text, options: { mode: mode & 0o777, owner: { uid, gid } } };
  } finally {
    await opened.close();
  }
}

function unsafe(file: string, found: string): BerthError {
  return new BerthError(
    'balancer-file-unsafe',
    `${escapeControl(file)} ${found}, and was not changed`,
    {
      fields: { file },
    },
  );
}

/** @param file whose name errors have, instead of the temporary one */
async function assertAccepted(haproxy: string, candidate: string, file: string): Promise<void> {
  const { error, stderr } = await runProgram(haproxy, ['-c', '-f', candidate], {
    timeoutMs,
  });
  if (error === undefined) return;
  if (isErrno(error, 'ENOENT', 'EACCES'))
    throw new BerthError('haproxy-missing', `could not run ${haproxy}`, { cause: error });
  const alerts = stderr
    .replaceAll(candidate, file)
    .split('\n')
    .flatMap((line) => /^\[ALERT\]\s+\(\d+\) : (?:config : )?(.*\S)/.exec(line)?.[1] ?? []);
  throw new BerthError(
    'haproxy-refused',
    `haproxy refuses ${file}: ${alerts.join('; ') || error.message}`,
    {
      fields: { file },
    },
  );
}
