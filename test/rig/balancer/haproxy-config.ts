import type { SshHost } from '../login-node/ssh-host.ts';

export interface HaproxyConfig {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly peersPort: number;
  readonly statisticsPort: number;
  readonly balancers: readonly { readonly name: string; readonly address: string }[];
  readonly together: boolean;
  readonly nodes: readonly SshHost[];
}

/** haproxy.cfg of one balancer for one kind of sessions. */
export function haproxyConfig(on: HaproxyConfig): string {
  return `global
    log /dev/log local0
    chroot /var/lib/haproxy
    user haproxy
    group haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin
    maxconn 4096

defaults
    mode tcp
    log global
    option tcplog
    option dontlognull
    option redispatch 1
    retries 3
    timeout connect 10s
    timeout client 36h
    timeout server 36h
    timeout check 3s

peers balancers
${on.balancers.map(({ name, address }) => `    peer ${name} ${address}:${on.peersPort}`).join('\n')}

frontend ssh
    bind ${on.address}:${on.port}
    maxconn 2000
    default_backend ssh

backend ssh
    balance leastconn
    option tcp-check
    tcp-check expect rstring SSH-2.0-
    option srvtcpka
    srvtcpka-idle 60s
    srvtcpka-intvl 10s
    srvtcpka-cnt 6
${on.together ? '    stick-table type ip size 100k expire 36h peers balancers\n    stick on src\n' : ''}\
    default-server check inter 10s fastinter 1s fall 2 rise 1
${on.nodes.map(({ name, address, port }) => `    server ${name} ${address}:${port}`).join('\n')}
`;
}
