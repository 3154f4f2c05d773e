import { createHash } from 'node:crypto';

/**
 * A first line with the checksum of the text below it, by which Berth recognizes what it wrote itself.
 *
 * @param mark the beginning of the line, a comment in the file's language
 */
export function withChecksum(mark: string, text: string): string {
  const body = `${text}\n`;
  return `${lineOf(mark, body)}\n${body}`;
}

/** True for what `withChecksum` made and nobody has changed. */
export function isUnchanged(mark: string, text: string): boolean {
  const end = text.indexOf('\n');
  return end > 0 && text.slice(0, end) === lineOf(mark, text.slice(end + 1));
}

function lineOf(mark: string, body: string): string {
  return `${mark} sha256: ${createHash('sha256').update(body).digest('hex')}`;
}
