import type { ProcessStart } from '../processes.ts';

const relay = new URL('api-server-relay.ts', import.meta.url).pathname;

/**
 * The API server listens on loopback, which the node cannot reach. A relay accepts the node's connections at
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
    command: process.execPath,
    args: [relay, gateway, port, hostname],
    directory,
  };
  return { start, url: `https://${gateway}:${port}` };
}
