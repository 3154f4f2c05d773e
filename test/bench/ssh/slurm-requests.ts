import type { SshHost } from '../../rig/login-node/ssh-host.ts';

/** Requests of slurmd and of sdiag itself. */
const ofDaemons =
  /STATS|NODE_REGISTRATION|PING|CONTROLLER|EPILOG_COMPLETE|COMPLETE_PROLOG|COMPLETE_BATCH/;

/** The requests of users that slurmctld has answered since its start, by type. */
export async function requestsByType(login: SshHost): Promise<ReadonlyMap<string, number>> {
  const { stdout } = await login.asRoot(['sdiag']);
  const [, text = ''] = stdout.toString().split('statistics by message type');
  const [byType = ''] = text.split('statistics by user');
  const counts = [...byType.matchAll(/^\s+(\w+)\s+\(.*?count:(\d+)/gm)];
  return new Map(
    counts.flatMap(([, name = '', count]) => (ofDaemons.test(name) ? [] : [[name, Number(count)]])),
  );
}
