import type { ForwardDirection, SshdOptions } from './options.ts';
import { critical, type SshdFinding, type SshdSample, weakness } from './sshd-finding.ts';

/**
 * Findings about forwarding, which sshd does in its own process for every authenticated user, even without a
 * session. Agent forwarding is not one: its socket leads to the client.
 */
export function forwardFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const findings: SshdFinding[] = [];
  const on = (value: ForwardDirection, direction: 'local' | 'remote') =>
    !options.disableForwarding && (value === 'all' || value === direction);
  if (on(options.allowStreamLocalForwarding, 'local'))
    findings.push(
      critical(
        'stream-local-forwarding',
        '-L to a Unix socket reaches sockets of the host: through the user bus or podman.sock, users start programs outside of any session',
        'AllowStreamLocalForwarding no',
      ),
    );
  else if (on(options.allowStreamLocalForwarding, 'remote'))
    findings.push(
      weakness(
        'stream-local-forwarding',
        '-R of a Unix socket creates and removes files on the host, outside of any session',
        'AllowStreamLocalForwarding no',
      ),
    );
  const local = options.permitOpen && on(options.allowTcpForwarding, 'local');
  const remote = options.permitListen && on(options.allowTcpForwarding, 'remote');
  const { sessionNetwork } = sample;
  const others = sessionNetwork === 'unknown' ? [] : sessionNetwork.otherProfiles;
  if ((local || remote) && (sessionNetwork === 'unknown' || others.length > 0))
    findings.push(
      weakness(
        'tcp-forwarding',
        sessionNetwork !== 'unknown'
          ? `-L, -R, -D and -W use the host's network, but sessions of these profiles have another: ${others.join(', ')}`
          : "-L, -R, -D and -W use the host's network; no profile could be read, so it is not known whether sessions use it too",
        'AllowTcpForwarding no; or, with Podman, `network: host` in every profile. Ports of sessions in pods and jobs, and VS Code there, need AllowTcpForwarding: to keep it, write `# berth-accepts: tcp-forwarding` into the file, which `berth sshd check` obeys',
      ),
    );
  if (remote && options.gatewayPorts)
    findings.push(
      weakness('gateway-ports', '-R opens ports of the host to the network', 'GatewayPorts no'),
    );
  // Before OpenSSH 10.0 DisableForwarding left X11 on (CVE-2025-32728), and still earlier tunnels.
  if (options.permitTunnel !== 'no')
    findings.push(
      weakness(
        'permit-tunnel',
        '-w connects a tun device of the host to the client',
        'PermitTunnel no',
      ),
    );
  if (options.x11Forwarding && !options.x11UseLocalhost)
    findings.push(
      weakness(
        'x11-listens-everywhere',
        "the user's X11 display listens on the network, protected only by its cookie",
        'X11UseLocalhost yes',
      ),
    );
  const xauth = options.x11Forwarding ? sample.paths.get(options.xauthLocation ?? '') : undefined;
  if (xauth?.open !== undefined)
    findings.push(
      critical(
        'program-writable',
        `sshd runs xauth on the host for each X11 session, and ${xauth.open.message}`,
        xauth.open.closedBy,
        'XAuthLocation',
      ),
    );
  return findings;
}

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
    weakness(
      'port-unprivileged',
      `while sshd is stopped, any user of this host can listen on ${named}, so that users log in to a false sshd`,
      firstUnprivileged > usualPort
        ? `Port ${usualPort}, or another one below ${firstUnprivileged}`
        : `set the lowest port for users other than root back to 1024 (man 7 ip), then Port ${usualPort}`,
    ),
  ];
}
