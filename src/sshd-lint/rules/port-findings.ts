import type { SshdOptions } from './options.ts';
import type { SshdFinding } from './sshd-finding.ts';

/** That of the examples; no other service has it. */
const usualPort = 332;

/**
 * Ports on which any user of the host may listen. While sshd is stopped there, as in a drain or an upgrade, a user can take
 * the port, also with `ssh -R`: then sshd does not start again, and clients or a balancer reach the user's program.
 *
 * @param firstUnprivileged the lowest port that needs no privilege: ip_unprivileged_port_start of ip(7)
 */
export function portFindings(
  { ports }: Pick<SshdOptions, 'ports'>,
  firstUnprivileged: number,
): SshdFinding[] {
  const open = ports.filter((port) => port >= firstUnprivileged);
  if (open.length === 0) return [];
  const named = `${open.length === 1 ? 'port' : 'ports'} ${open.join(', ')}`;
  return [
    {
      code: 'port-unprivileged',
      severity: 'weakness',
      message: `while sshd is stopped, any user of this host can listen on ${named}, so that users log in to a false sshd`,
      closedBy:
        firstUnprivileged > usualPort
          ? `Port ${usualPort}, or another one below ${firstUnprivileged}`
          : `Port ${usualPort}, once the lowest port of this kernel for users other than root is 1024 again (man 7 ip)`,
    },
  ];
}
