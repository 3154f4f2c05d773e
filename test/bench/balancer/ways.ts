import type { BalancerHost } from '../../rig/balancer/balancer-host.ts';
import type { SshServer } from '../../rig/login-node/live-session.ts';
import type { Command } from '../measure.ts';

export const user = 'bench-ssh';

/** The two ways to a login node. */
export interface Ways {
  readonly direct: SshServer;
  readonly balanced: SshServer & { readonly host: BalancerHost };
}

/** OpenSSH's client, as a process to measure. */
export function sshCommand(server: SshServer, ...words: string[]): Command {
  const destination = ['-p', String(server.port), `${user}@${server.address}`];
  return {
    file: '/usr/bin/ssh',
    args: [...server.clientOptions(user), ...destination, ...words],
    env: { PATH: '/usr/bin:/bin', HOME: '/root' },
  };
}
