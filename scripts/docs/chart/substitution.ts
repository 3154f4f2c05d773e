/** A part of a manifest that the chart takes from its values. */
export interface Substitution {
  /** What the manifest has: literally, or as a pattern without the flag `g`. */
  readonly from: string | RegExp;
  /** The template in its place. */
  readonly to: string;
  /** How often the manifest has it; default 1. */
  readonly times?: number;
}

/**
 * The manifest as a template. Counting the places means that a changed manifest cannot silently lose one.
 *
 * @throws Error if a part occurs another number of times, or if the manifest has braces of a template
 */
export function substituted(
  manifest: string,
  file: string,
  substitutions: readonly Substitution[],
): string {
  if (manifest.includes('{{')) throw new Error(`${file} has {{, which Helm would execute`);
  let text = manifest;
  for (const { from, to, times = 1 } of substitutions) {
    const parts = text.split(from);
    if (parts.length !== times + 1)
      throw new Error(
        `${file} has ${String(from)} ${parts.length - 1} times, and not ${times}: change scripts/docs/chart`,
      );
    text = parts.join(to);
  }
  return text;
}
