/** A program to run. */
export interface ProgramCall {
  /** Absolute path. */
  readonly file: string;
  /** argv, including argv[0]. */
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}
