import type { CommandModule } from 'yargs';
import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { outputFile } from '../kit/output-path.ts';
import { configDirOption, former, type OverlayArguments, overlayOf } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface BalancerArguments extends OverlayArguments {
  readonly list?: string | undefined;
  readonly config?: string | undefined;
  readonly for: string;
  readonly balancer?: string | undefined;
  readonly kind?: string | undefined;
  readonly write?: string | undefined;
  readonly overwrite: boolean;
  readonly haproxy: string;
  readonly 'check-nodes'?: boolean | undefined;
  readonly 'no-check-nodes'?: boolean | undefined;
}

/** `berth render balancer`: the balancer's configuration, from one list of nodes and kinds. */
export function renderBalancerCommand(
  terminal: Terminal,
): CommandModule<object, BalancerArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return {
    command: 'balancer',
    describe: 'Print or write the configuration of the balancer in front of the login nodes',
    builder: (yargs) =>
      yargs
        .option('list', {
          ...text,
          describe:
            'List of the nodes and the kinds of sessions [default: /etc/berth/balancer.yml]',
        })
        .option('config', former('--list'))
        .option('config-dir', configDirOption)
        .option('for', {
          choices: ['haproxy', 'kubernetes'],
          default: 'haproxy',
          describe: 'haproxy.cfg for a host, or the objects of a cluster',
        })
        .option('balancer', {
          ...text,
          describe:
            'Name of a host in `balancers` [default with --write: this host; otherwise for all of them]',
        })
        .option('kind', {
          ...text,
          describe: 'Only this kind of session, for a balancer that serves nothing else',
        })
        .option('write', {
          ...text,
          describe:
            'Write haproxy.cfg to this file, if haproxy accepts it; the former file is kept',
        })
        .option('overwrite', {
          type: 'boolean',
          default: false,
          describe: 'Also replace a file that Berth did not write or that was edited; it is kept',
        })
        .option('haproxy', {
          ...text,
          default: '/usr/sbin/haproxy',
          describe: 'The haproxy that checks the file',
        })
        .option('check-nodes', {
          type: 'boolean',
          describe: 'Connect to each node, and warn if no sshd answers [default with --write]',
        })
        .option('no-check-nodes', {
          type: 'boolean',
          describe: 'With --write, do not connect to the nodes',
        })
        .example('berth render balancer', 'Print haproxy.cfg for all balancers')
        .example(
          'berth render balancer --write /etc/haproxy/haproxy.cfg',
          'Write haproxy.cfg of this host, then: systemctl reload-or-restart haproxy',
        )
        .example(
          'berth render balancer --for kubernetes | kubectl apply -f -',
          'Run the balancer in a cluster',
        )
        .epilogue(
          'Exit status: 0 printed, written or up to date; 78 a mistake in the list, or a file that was edited, which is not changed. Nodes at which no sshd answers do not change it.',
        ),
    handler: (args) => render(args, terminal),
  };
}

async function render(args: BalancerArguments, terminal: Terminal): Promise<void> {
  const settings = await settingsOf(args);
  await output(settings, args, terminal);
  const byDefault = args.write !== undefined && args['no-check-nodes'] !== true;
  if (args['check-nodes'] ?? byDefault) {
    const { warnOfNodes } = await import('./warn-of-nodes.ts');
    await warnOfNodes(settings, terminal);
  }
}

async function output(
  settings: BalancerSettings,
  args: BalancerArguments,
  terminal: Terminal,
): Promise<void> {
  if (args.for === 'kubernetes') {
    const { balancerObjects } = await import('../../balancer/rules/balancer-objects.ts');
    const { yamlDocuments } = await import('./objects.ts');
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
  const list = args.list ?? args.config ?? '/etc/berth/balancer.yml';
  const { loadBalancerSettings } = await import('../../config/load/load-render-files.ts');
  const { onlyKind } = await import('../../balancer/rules/placement.ts');
  const overlay = await overlayOf(args);
  const settings = loadBalancerSettings(overlay?.resolve(list) ?? list);
  return kind === undefined ? settings : onlyKind(settings, kind);
}

async function hostFile(settings: BalancerSettings, balancer: string | undefined): Promise<string> {
  const { haproxyConfig } = await import('../../balancer/rules/haproxy-config.ts');
  const { hostPlacement } = await import('../../balancer/rules/placement.ts');
  const [{ withChecksum }, { haproxyMark }] = await Promise.all([
    import('../../checksum-line.ts'),
    import('../../balancer/place-haproxy-config.ts'),
  ]);
  return withChecksum(haproxyMark, haproxyConfig(settings, hostPlacement(settings, balancer)));
}
