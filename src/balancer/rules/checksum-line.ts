import { createHash } from 'node:crypto';

const mark = '# Written by `berth render balancer`. To change it, edit balancer.yml. sha256: ';

/** The text below a first line with its checksum, by which Berth recognizes what it wrote itself. */
export function withChecksum(text: string): string {
  const body = `${text}\n`;
  return `${mark}${checksum(body)}\n${body}`;
}

/** True for what `withChecksum` made and nobody has changed. */
export function isUnchanged(text: string): boolean {
  const end = text.indexOf('\n');
  return end > 0 && text.slice(0, end) === `${mark}${checksum(text.slice(end + 1))}`;
}

function checksum(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}
