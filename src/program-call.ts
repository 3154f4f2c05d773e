/** A program to run. */
export interface ProgramCall {
  /** Absolute path. */
  readonly file: string;
  /** argv, including argv[0]. */
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** A program that reads a file written for it, with what must not be on its command line. */
export interface ProgramCallWithFile extends ProgramCall {
  readonly given: { readonly path: string; readonly text: string };
}
