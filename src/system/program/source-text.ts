import { readFileSync } from 'node:fs';

/**
 * The text of a file in another language (Python, shell, Markdown) that lies beside a module. The build
 * (`scripts/single-file.ts`) replaces each call by the text itself, so an output reads no such file.
 *
 * @param file relative to the module, as a literal
 * @param module `import.meta.url`
 * @param lines only those that begin with one of these, separated by `|`, as a literal; default: all
 */
export function sourceText(file: string, module: string, lines?: string): string {
  return linesWith(readFileSync(new URL(file, module), 'utf8'), lines);
}

/** The lines of a text that `sourceText` wants. */
export function linesWith(text: string, lines: string | undefined): string {
  if (lines === undefined) return text;
  const beginnings = lines.split('|');
  return text
    .split('\n')
    .filter((line) => beginnings.some((beginning) => line.startsWith(beginning)))
    .join('\n');
}
