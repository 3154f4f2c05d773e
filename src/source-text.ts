import { readFileSync } from 'node:fs';

/**
 * The text of a source file in another language (Python, shell) that lies beside a module. The build
 * (`scripts/single-file.ts`) replaces each call by the text itself, so an output reads no such file.
 *
 * @param file relative to the module, as a literal
 * @param module `import.meta.url`
 */
export function sourceText(file: string, module: string): string {
  return readFileSync(new URL(file, module), 'utf8');
}
