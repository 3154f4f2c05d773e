import type { SshdLint } from '../../setup/sshd-lint/lint-sshd.ts';
import type { FileChange } from '../../setup/init/file-change.ts';

/**
 * What became of a step. `planned`: a dry run, or a step after one that failed; `left`: somebody has edited the file, and it
 * was not replaced.
 */
export interface StepResult {
  readonly result: 'planned' | 'unchanged' | 'left' | 'done' | 'failed';
  /** Where the former file is. */
  readonly kept?: string;
  /** What the linter found in a file of sshd. */
  readonly lint?: SshdLint;
}

/** A file that `berth init` writes. */
export interface SetupFile extends StepResult {
  readonly file: string;
  readonly change: FileChange['change'];
  /** The differences as a unified diff; none if the file is unchanged. */
  readonly patch?: string;
}

/** A program that `berth init` runs. */
export interface SetupCommand extends StepResult {
  readonly command: readonly string[];
  /** A command whose output it reads. */
  readonly input?: readonly string[];
}
