/** Something that is wrong with one value of a configuration file. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  /** The key is the mistake, not its value. */
  readonly atKey?: boolean;
}

/** A problem with its sentence, which names the path as the admin wrote it. */
export interface Complaint extends Problem {
  readonly text: string;
}

/** Both from 1, as editors count. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Finds where in a file a problem is; nothing where the values come from no text. */
export type Place = (problem: Problem) => Position | undefined;

export const nowhere: Place = () => undefined;
