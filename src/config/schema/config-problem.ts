/** A problem with one value of a configuration file. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  /** True if the key is wrong, not its value. */
  readonly atKey?: boolean;
}

/** A problem with its message, which names the path as the admin wrote it. */
export interface ProblemMessage extends Problem {
  readonly text: string;
}

/** A path as an admin reads it: entries of lists count from 1, as in the reasons of `berth plan`. */
export function writtenPath(path: readonly PropertyKey[]): string {
  return path.map((step) => String(typeof step === 'number' ? step + 1 : step)).join('.');
}

/** Both count from 1, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Finds the position of a problem in a file; undefined if the values do not come from a file. */
export type Locate = (problem: Problem) => Position | undefined;

export const noPosition: Locate = () => undefined;
