import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import { type ArgumentsOf, choice, flag, text } from '../../cli/kit/options.ts';
import { outputFile } from '../../cli/kit/output-path.ts';
import { configDirOption, overlayOf } from '../../cli/kit/site-options.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';

const options = {
  list: text(
    'file',
    'List of the nodes and the kinds of sessions [default: /etc/berth/balancer.yml]',
  ),
  ...configDirOption,
  for: choice(['haproxy', 'kubernetes'], 'haproxy.cfg for a host, or the objects of a cluster', {
    default: 'haproxy',
  }),
  balancer: text(
    'balancer',
    'Name of a host in `balancers` [default with --write: this host; otherwise for all of them]',
  ),
  kind: text('balancer-kind', 'Only this kind of session, for a balancer that serves nothing else'),
  write: text(
    'file',
    'Write haproxy.cfg to this file, if haproxy accepts it; the former file is kept',
  ),
  overwrite: flag('Also replace a file that Berth did not write or that was edited; it is kept'),
  haproxy: text('file', 'The haproxy that checks the file', { default: '/usr/sbin/haproxy' }),
  'check-nodes': flag('Connect to each node, and warn if no sshd answers [default with --write]'),
  'no-check-nodes': flag('With --write, do not connect to the nodes'),
};

type BalancerArguments = ArgumentsOf<typeof options>;

/** `berth render balancer`: the balancer's configuration, from one list of nodes and kinds. */
export const renderBalancerCommand = command({
  ...companionCommands.renderBalancer,
  options,
  needs: { '--overwrite': '--write', '--haproxy': '--write', '--no-check-nodes': '--write' },
  without: {
    '--write': ['--for kubernetes', '--config-dir'],
    '--balancer': ['--for kubernetes'],
    '--list': ['--config-dir'],
    '--check-nodes': ['--no-check-nodes'],
  },
  examples: [
    ['berth render balancer', 'Print haproxy.cfg for all balancers'],
    [
      'berth render balancer --write /etc/haproxy/haproxy.cfg',
      'Write haproxy.cfg of this host, then: systemctl reload-or-restart haproxy',
    ],
    [
      'berth render balancer --for kubernetes | kubectl apply -f -',
      'Run the balancer in a cluster',
    ],
  ],
  epilogue:
    'Exit status: 0 printed, written or up to date; 78 a mistake in the list, or a file that was edited, which is not changed. Nodes at which no sshd answers do not change it.',
  run: render,
});

async function render(args: BalancerArguments, terminal: Terminal): Promise<void> {
  const settings = await settingsOf(args);
  await output(settings, args, terminal);
  if (args['check-nodes'] || (args.write !== undefined && !args['no-check-nodes'])) {
    const { warnOfNodes } = await import('./write-balancer.ts');
    await warnOfNodes(settings, terminal);
  }
}

async function output(
  settings: BalancerSettings,
  args: BalancerArguments,
  terminal: Terminal,
): Promise<void> {
  if (args.for === 'kubernetes') {
    const { balancerObjects } = await import('./rules/balancer-objects.ts');
    const { yamlDocuments } = await import('./write-balancer.ts');
    terminal.stdout.write(yamlDocuments(balancerObjects(settings)));
    return;
  }
  if (args.write === undefined) {
    terminal.stdout.write(await hostFile(settings, args.balancer));
    return;
  }
  const { ownName, writeBalancer } = await import('./write-balancer.ts');
  const { overwrite, haproxy } = args;
  const path = outputFile('--write', args.write);
  const file = await hostFile(settings, args.balancer ?? ownName(settings));
  const now = new Date(terminal.now());
  await writeBalancer(path, file, { overwrite, haproxy, now }, terminal);
}

async function settingsOf(args: BalancerArguments): Promise<BalancerSettings> {
  const { kind } = args;
  const list = args.list ?? '/etc/berth/balancer.yml';
  const { loadBalancerSettings } = await import('../../config/load/load-render-files.ts');
  const { onlyKind } = await import('./rules/placement.ts');
  const overlay = await overlayOf(args);
  const settings = loadBalancerSettings(overlay?.resolve(list) ?? list);
  return kind === undefined ? settings : onlyKind(settings, kind);
}

async function hostFile(settings: BalancerSettings, balancer: string | undefined): Promise<string> {
  const { haproxyConfig } = await import('./rules/haproxy-config.ts');
  const { hostPlacement } = await import('./rules/placement.ts');
  const [{ withChecksum }, { haproxyMark }] = await Promise.all([
    import('../../system/text/checksum-line.ts'),
    import('./place-haproxy-config.ts'),
  ]);
  return withChecksum(haproxyMark, haproxyConfig(settings, hostPlacement(settings, balancer)));
}
