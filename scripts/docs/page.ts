/** A page of docs/ that is generated from the sources. */
export interface GeneratedPage {
  /** Below the repository, as `docs/errors.md`. */
  readonly path: string;
  /** Its Markdown; `formattedPage` applies the repository's format. */
  readonly markdown: () => string | Promise<string>;
}
