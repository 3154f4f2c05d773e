import { checkNodes, type SilentNode } from '../../balancer/check-nodes.ts';
import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { escapedForTerminal } from '../../log.ts';
import { withProgress } from '../kit/progress.ts';
import type { Terminal } from '../kit/terminal.ts';

/** Connects to all nodes, and warns of those at which no sshd answers. They may come later, so it is no error. */
export async function warnOfNodes(settings: BalancerSettings, terminal: Terminal): Promise<void> {
  const silent = await withProgress(
    terminal,
    () => 'waiting for the nodes',
    () => checkNodes(settings),
  );
  if (silent.length === 0) return;
  const hint =
    'next: correct address or node_port in balancer.yml, or run `berth node status` and `berth sshd check` on the node. The balancer uses a node once its sshd answers.';
  terminal.stderr.write(`${silent.map(warningOf).join('')}${hint}\n`);
}

function warningOf({ kinds, node, endpoint, found }: SilentNode): string {
  const text = `no sshd answers on ${node} at ${endpoint} (${kinds.join(', ')}): ${found}`;
  return `warning: ${escapedForTerminal(text)}\n`;
}
