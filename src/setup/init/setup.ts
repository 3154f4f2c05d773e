import { BerthError } from '../../system/errors/berth-error.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import { type FileLock, takeLock } from '../../system/file-lock.ts';

/** What `berth init` would do on a host: data, so that it can be shown before it is done. */
export interface Setup {
  readonly steps: readonly SetupStep[];
  /** Done only if `berth doctor` has found no fault after `steps`. */
  readonly last?: readonly SetupStep[];
  /** Arguments of `berth doctor` afterwards. */
  readonly doctor: readonly string[];
  /** Doctor cannot pass before the admin has done what `next` says: its failures are then not this command's. */
  readonly unfinished?: boolean;
  /** What the admin does then, one line each. */
  readonly next: readonly string[];
  /** The same, if `berth doctor` has found no fault. */
  readonly nextIfSound?: readonly string[];
  /** More of these lines, by a look at the host after all steps. */
  readonly nextByLook?: () => Promise<readonly string[]>;
  /** Commands that undo what an earlier run did and this one finds done, the last change first. */
  readonly undo?: readonly (readonly string[])[];
}

export type SetupStep = FileStep | CommandStep;

/** A file of root. */
export interface FileStep {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
  /**
   * `whole`: Berth's own file; one that somebody has edited is not replaced without a question. `edit`: a file of the
   * host, of which `text` is the present text with some lines changed.
   */
  readonly kind: 'whole' | 'edit';
  /** Whether other lines of the file may be secret: only changed lines are shown. */
  readonly secret?: boolean;
  /** What of the site's the new text takes away. It is not done without a question. */
  readonly lost?: readonly string[];
  /** The option that keeps it. */
  readonly keptBy?: string;
  /** Where the former file is kept; default: beside it. */
  readonly copy?: string;
  /** Other texts that Berth itself may have written: a file with one of them was not edited. */
  readonly formerTexts?: readonly string[];
  /** The option that asks for another value than the file has now. Without the file it is not done. */
  readonly askedBy?: string;
  /** A command of `berth` that writes the file itself, after it has checked it. */
  readonly writtenBy?: readonly string[];
}

/** A file of Berth's own, which everybody may read. */
export function whole(path: string, text: string): FileStep {
  return { path, text, mode: 0o644, kind: 'whole' };
}

/** A program, found in the system's directories; `berth` is this one. */
export interface CommandStep {
  readonly argv: readonly string[];
  /** A command whose output is its standard input. */
  readonly input?: readonly string[];
  /** A command that ends with status 0 if there is nothing to do. */
  readonly unless?: readonly string[];
  /** Commands that undo it. */
  readonly undo?: readonly (readonly string[])[];
  /** Undone if `berth doctor` then finds a fault. */
  readonly untilChecked?: boolean;
}

/** A command as an admin would type it. */
export function commandText({ input, argv }: CommandStep): string {
  return input === undefined ? shellWords(argv) : `${shellWords(input)} | ${shellWords(argv)}`;
}

export function isFileStep(step: SetupStep): step is FileStep {
  return 'path' in step;
}

/** In a directory that only root can write. It is gone after a reboot. */
const file = '/run/berth-init.lock';

/**
 * The lock of all `berth init` on this host, from the first change to the last. That of a killed one is taken over.
 *
 * @throws {BerthError} `init-running` at once, if another process holds it; those of `takeLock`
 */
export async function takeInitLock(): Promise<FileLock | undefined> {
  return await takeLock(file, { timeoutMs: 0, foreignStaleMs: 0, timedOut: running });
}

function running(holder: string): BerthError {
  return new BerthError('init-running', `${holder} runs \`berth init\` too; nothing was written`);
}
