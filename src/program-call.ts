/** A program to become or to run: absolute path, words, and the whole environment. */
export interface ProgramCall {
  readonly file: string;
  /** The first is the name it sees itself under. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A program that reads a file of ours: what is not to be on its command line. */
export interface GivenCall extends ProgramCall {
  readonly given: { readonly path: string; readonly text: string };
}
