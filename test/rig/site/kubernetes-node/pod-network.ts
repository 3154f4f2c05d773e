import { execa } from 'execa';
import { serviceAddress } from '../kubernetes/control-plane.ts';
import { podCidr } from './containerd.ts';
import { nsenterArgs } from './namespaces.ts';

/**
 * Connects pods on the bridge to the machine's end of the veth pair, and the Service `kubernetes` to the API
 * server. The tests have no kube-proxy; this is the only Service that their pods use.
 *
 * @param server URL by which the node reaches the API server
 */
export async function connectPods(init: number, server: string): Promise<void> {
  const { hostname, port } = new URL(server);
  const nat = (...args: string[]) =>
    execa('nsenter', nsenterArgs(init, ['iptables', '--wait', '--table', 'nat', ...args]));
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
