import { execa } from 'execa';
import { serviceAddress } from '../kubernetes/control-plane.ts';
import { podCidr } from './containerd.ts';
import { entering } from './namespaces.ts';

/**
 * Lets pods of the bridge reach the machine's end of the veth pair, and the API server as pods know it:
 * what kube-proxy would do for the one Service that pods of the tests ask for.
 *
 * @param server URL of the API server, as the node reaches it
 */
export async function connectPods(init: number, server: string): Promise<void> {
  const { hostname, port } = new URL(server);
  const nat = (...words: string[]) =>
    execa('nsenter', entering(init, ['iptables', '--wait', '--table', 'nat', ...words]));
  await nat(
    ...['--append', 'PREROUTING', '--destination', serviceAddress],
    ...['--protocol', 'tcp', '--dport', '443'],
    ...['--jump', 'DNAT', '--to-destination', `${hostname}:${port}`],
  );
  await nat(
    ...['--append', 'POSTROUTING', '--source', podCidr, '--out-interface', 'eth0'],
    ...['--jump', 'MASQUERADE'],
  );
}
