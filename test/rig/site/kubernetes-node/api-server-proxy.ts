import type { ProcessStart } from '../processes.ts';

/**
 * The API server listens on loopback, which the node cannot reach. socat(1) accepts the node's connections at
 * the machine's end of the veth pair and forwards them.
 *
 * @param server URL of the API server on loopback
 */
export function apiServerProxy(
  directory: string,
  server: string,
  gateway: string,
): { readonly start: ProcessStart; readonly url: string } {
  const { hostname, port } = new URL(server);
  const start: ProcessStart = {
    name: 'api-server-for-node',
    command: 'socat',
    args: [
      `TCP-LISTEN:${port},bind=${gateway},fork,reuseaddr,nodelay`,
      `TCP:${hostname}:${port},nodelay`,
    ],
    directory,
  };
  return { start, url: `https://${gateway}:${port}` };
}
