import type { BundledProgram } from '../bundled-transfer-argv.ts';
import type { SessionRequest } from './session-request.ts';

/** The program that a file transfer needs inside; undefined if the request is no file transfer. */
export function transferProgram({
  kind,
  command = '',
}: SessionRequest): BundledProgram | undefined {
  if (kind === 'sftp') return 'sftp-server';
  return /^scp\s/.test(command) ? 'scp' : undefined;
}
