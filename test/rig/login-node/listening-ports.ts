import type { SshHost } from './ssh-host.ts';

/** The TCP ports, of IPv4 and IPv6, at which processes of a user listen (proc_net_tcp.rst of Linux: state 0A). */
export async function listeningPorts(host: SshHost, user: string): Promise<number[]> {
  const { stdout } = await host.asRoot(['cat', '/proc/net/tcp', '/proc/net/tcp6']);
  const { uid } = host.account(user);
  const ports = stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && Number(fields[7]) === uid)
    .map(([, address = '']) => parseInt(address.replace(/.*:/, ''), 16));
  return [...new Set(ports)];
}
