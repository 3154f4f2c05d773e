import { readFile } from 'node:fs/promises';

/** `TCP_LISTEN` in /proc/net/tcp. */
const listening = '0A';

/** TCP ports on which any program listens: sshd's command line or a socket unit may add ports to those of its file. */
export async function listeningTcpPorts(): Promise<number[]> {
  const ports = new Set<number>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    // Without IPv6 there is no tcp6.
    const text = await readFile(file, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state] = line.trim().split(/\s+/);
      if (state === listening) ports.add(Number.parseInt(local.split(':')[1] ?? '', 16));
    }
  }
  return [...ports];
}
