import type { TestNetwork } from '../balancer/test-network.ts';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { inNetwork } from '../login-node/host-namespaces.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { podCidr } from '../site/kubernetes-node/containerd.ts';
import type { TestNode } from '../site/kubernetes-node/node.ts';

/** The Kubernetes node's device in the test's network. */
const device = 'lan0';

/**
 * Connects the Kubernetes node to the bridge of a test's network. Its pods reach the login nodes with the node's address.
 *
 * @param address IPv4 address of the node in the network
 */
export async function connectToLan(
  node: TestNode,
  network: TestNetwork,
  address: string,
): Promise<{ disconnect(): Promise<void> }> {
  const ip = async (...args: string[]): Promise<void> => {
    const [file = '', ...words] = inNetwork(network.path, ['ip', ...args]);
    assertSuccess(`ip ${args.join(' ')}`, await run(file, words));
  };
  const masquerade = [
    ...['POSTROUTING', '--source', podCidr, '--out-interface', device],
    ...['--jump', 'MASQUERADE'],
  ];
  const peer = ['peer', 'name', device, 'netns', String(node.init)];
  await ip('link', 'add', 'kube-node', 'type', 'veth', ...peer);
  await ip('link', 'set', 'kube-node', 'master', 'bridge');
  await ip('link', 'set', 'kube-node', 'up');
  await node.inside(['ip', 'address', 'add', `${address}/24`, 'dev', device]);
  await node.inside(['ip', 'link', 'set', device, 'up']);
  await node.inside(['iptables', '--wait', '--table', 'nat', '--append', ...masquerade]);
  return {
    disconnect: async () => {
      await node.inside(['iptables', '--wait', '--table', 'nat', '--delete', ...masquerade]);
      await node.inside(['ip', 'link', 'delete', device]);
    },
  };
}
