import { hostname } from 'node:os';
import { stringify } from 'yaml';
import { checkNodes, type SilentNode } from './check-nodes.ts';
import { placeConfig, type PlacedConfig, type PlaceOptions } from './place-haproxy-config.ts';
import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { fileDiff } from '../../cli/kit/file-diff.ts';
import { reportError, type Terminal } from '../../cli/kit/terminal.ts';
import { withProgress } from '../../cli/kit/progress.ts';

/**
 * Writes haproxy.cfg, and says what changed, how to use it and how to undo it. A file that somebody edited is not
 * changed: the difference is printed, and `balancer-file-edited` reported.
 *
 * @throws as `placeConfig`
 */
export async function writeBalancer(
  path: string,
  text: string,
  options: PlaceOptions,
  terminal: Terminal,
): Promise<void> {
  const placed = await placeConfig(path, text, options);
  terminal.stdout.write(writtenText(path, text, placed));
  if (placed.change !== 'edited') return;
  const error = new BerthError(
    'balancer-file-edited',
    `${path} was not written by Berth, or was edited since, and was not changed`,
    {
      fields: { file: path },
    },
  );
  reportError(terminal, error);
}

function writtenText(path: string, text: string, placed: PlacedConfig): string {
  if (placed.change === 'unchanged') return `${path} has these contents already\n`;
  const reload = 'use it: systemctl reload-or-restart haproxy (a reload ends no session)';
  if (placed.change === 'new') return `${path} was made\n\nnext: ${reload}\n`;
  const changes = fileDiff(path, { before: placed.before, after: text });
  if (placed.change === 'edited') return changes;
  return [
    `${path} was changed; the former file is ${placed.kept}\n`,
    changes,
    `next: ${reload}\n`,
    `to undo it:\n  mv ${placed.kept} ${path} && systemctl reload haproxy\n`,
  ].join('\n');
}

/**
 * This host's name in `balancers`, as it is there or without its domain.
 *
 * @returns undefined if there is one balancer at most: then haproxy needs no name
 * @throws BerthError `balancer-unknown`
 */
export function ownName({ balancers }: BalancerSettings): string | undefined {
  if (balancers.length < 2) return undefined;
  const [short = ''] = hostname().split('.');
  const own = balancers.find(({ name }) => name === hostname() || name === short);
  if (own !== undefined) return own.name;
  const names = balancers.map(({ name }) => name).join(', ');
  throw new BerthError(
    'balancer-unknown',
    `this host, ${hostname()}, is none of the balancers ${names}`,
  );
}

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

/** YAML documents with every text as it is: files in ConfigMaps stay readable. */
export function yamlDocuments(objects: readonly object[]): string {
  const style = { lineWidth: 0, aliasDuplicateObjects: false };
  return objects.map((object) => stringify(object, style)).join('---\n');
}
