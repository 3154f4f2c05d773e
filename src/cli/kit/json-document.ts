import { apiVersion } from './api-version.ts';
import type { Documents } from '../documents.ts';
import { escapeInvisible } from './terminal.ts';

/**
 * A document for scripts, with its kind as Kubernetes objects have it.
 *
 * @param write `stringify` of yaml for commands that print YAML too: most commands do not load it
 */
export function documentText<Kind extends keyof Documents>(
  kind: Kind,
  fields: Documents[Kind],
  write: (document: object) => string = json,
): string {
  return escapeInvisible(write({ apiVersion, kind, ...fields }));
}

/** The text of a document in JSON. */
export function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
