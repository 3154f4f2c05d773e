import type { SshdFinding, SshdSample } from './finding.ts';
import type { ForwardDirection, SshdOptions } from './options.ts';

/**
 * What sshd does in its own process for whoever is authenticated, with or without a session. Agent
 * forwarding is not among it: its socket leads to the client.
 */
export function forwardFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const findings: SshdFinding[] = [];
  const on = (value: ForwardDirection, direction: 'local' | 'remote') =>
    !options.disableForwarding && (value === 'all' || value === direction);
  if (on(options.allowStreamLocalForwarding, 'local'))
    findings.push({
      code: 'stream-local-forwarding',
      severity: 'door',
      message:
        '-L to a Unix socket reaches those of the host: with the user bus or podman.sock, programs start outside of any session',
      closedBy: 'AllowStreamLocalForwarding no',
    });
  else if (on(options.allowStreamLocalForwarding, 'remote'))
    findings.push({
      code: 'stream-local-forwarding',
      severity: 'weakness',
      message: '-R of a Unix socket makes and removes files of the host outside of any session',
      closedBy: 'AllowStreamLocalForwarding no',
    });
  const local = options.permitOpen && on(options.allowTcpForwarding, 'local');
  const remote = options.permitListen && on(options.allowTcpForwarding, 'remote');
  if ((local || remote) && sample.sessionNetwork !== 'host')
    findings.push({
      code: 'tcp-forwarding',
      severity: 'weakness',
      message:
        sample.sessionNetwork === 'other'
          ? '-L, -R, -D and -W use the network of the host, which the sessions of a profile have not'
          : '-L, -R, -D and -W use the network of the host; whether the sessions have it, too, is not known: no profile could be read',
      closedBy: 'AllowTcpForwarding no; or, in Podman, `network: host` in each profile',
    });
  if (remote && options.gatewayPorts)
    findings.push({
      code: 'gateway-ports',
      severity: 'weakness',
      message: '-R opens ports of the host to the network',
      closedBy: 'GatewayPorts no',
    });
  // DisableForwarding left X11 on before OpenSSH 10.0 (CVE-2025-32728), and tunnels in older ones.
  if (options.permitTunnel !== 'no')
    findings.push({
      code: 'permit-tunnel',
      severity: 'weakness',
      message: '-w joins a tun device of the host with the client',
      closedBy: 'PermitTunnel no',
    });
  if (options.x11Forwarding && !options.x11UseLocalhost)
    findings.push({
      code: 'x11-listens-everywhere',
      severity: 'weakness',
      message: "the user's X11 display is open to the network, guarded by its cookie only",
      closedBy: 'X11UseLocalhost yes',
    });
  const xauth = options.x11Forwarding ? sample.paths.get(options.xauthLocation ?? '') : undefined;
  if (xauth?.open !== undefined)
    findings.push({
      code: 'program-writable',
      severity: 'door',
      message: `sshd runs xauth on the host for each X11 session, and ${xauth.open.message}`,
      closedBy: xauth.open.closedBy,
      directive: 'XAuthLocation',
    });
  return findings;
}
