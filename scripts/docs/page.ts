/** A page of docs/, or another file, that is generated from the sources. */
export interface GeneratedPage {
  /** Below the repository, as `docs/errors.md`. */
  readonly path: string;
  /** No Markdown or JSON, but a file that prettier cannot read. */
  readonly raw?: boolean;
  /** Its text; `formattedPage` applies the repository's format. */
  readonly markdown: () => string | Promise<string>;
}
