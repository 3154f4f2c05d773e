import type { BundledProgram } from '../../transfer-tools.ts';
import type { SessionRequest } from './session-request.ts';

/** What a session needs of the other end of a file transfer, if it is one. */
export function transferProgram({
  kind,
  command = '',
}: SessionRequest): BundledProgram | undefined {
  if (kind === 'sftp') return 'sftp-server';
  return /^scp\s/.test(command) ? 'scp' : undefined;
}
