import { runDir } from '../../config/schema/default-settings.ts';
import { userConnectionsDir } from '../../sessions/connections/state-paths.ts';
import { parseSessionId, sessionId, sessionVariable } from '../../system/program/session-id.ts';
import { ownProcessId } from '../../system/process-start.ts';
import { currentConnection } from '../../system/ssh-connection.ts';

/**
 * The ID of the session that this login opens: the connection's, which root's lines in syslog have, too; in a job of Slurm,
 * the one that the login node has sent; at a console, this process's. Users see it with an error, and tell it the admin.
 */
export function ownSessionId(env: Readonly<NodeJS.ProcessEnv>): string {
  const { [sessionVariable]: carried = '' } = env;
  if (env.BERTH_JOB_DIRECTORY !== undefined && parseSessionId(carried)?.host !== undefined)
    return carried;
  const uid = process.getuid?.() ?? 0;
  const connection = currentConnection(userConnectionsDir({ run: runDir }, uid), uid);
  return sessionId(connection?.replace(/\.closing$/, '') ?? ownProcessId());
}
