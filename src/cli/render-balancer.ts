import type { CommandModule } from 'yargs';
import type { BalancerSettings } from '../config/balancer-settings.ts';
import type { Terminal } from './terminal.ts';

interface BalancerArguments {
  readonly config: string;
  readonly balancer?: string | undefined;
  readonly kind?: string | undefined;
}

/** `berth render balancer`: the balancer's configuration, from one list of nodes and kinds. */
export function renderBalancerCommand(
  terminal: Terminal,
): CommandModule<object, BalancerArguments> {
  return {
    command: 'balancer',
    describe: 'Print the configuration of the balancer in front of the login nodes',
    builder: (yargs) =>
      yargs
        .option('config', {
          type: 'string',
          requiresArg: true,
          default: '/etc/berth/balancer.yml',
          describe: 'List of the nodes and kinds of sessions',
        })
        .option('balancer', {
          type: 'string',
          requiresArg: true,
          describe: 'Name of the host in the list, if it differs from what `hostname` prints there',
        })
        .option('kind', {
          type: 'string',
          requiresArg: true,
          describe: 'Only this kind of sessions, for a balancer of its own',
        })
        .example('berth render balancer', 'Print haproxy.cfg for each of the balancers'),
    handler: (args) => render(args, terminal),
  };
}

async function render(args: BalancerArguments, terminal: Terminal): Promise<void> {
  terminal.stdout.write(await hostFile(await settingsOf(args), args.balancer));
}

async function settingsOf({ config, kind }: BalancerArguments): Promise<BalancerSettings> {
  const { loadBalancerSettings } = await import('../settings/load-balancer-settings.ts');
  const { onlyKind } = await import('../balancer/rules/only-kind.ts');
  const settings = loadBalancerSettings(config);
  return kind === undefined ? settings : onlyKind(settings, kind);
}

async function hostFile(settings: BalancerSettings, balancer: string | undefined): Promise<string> {
  const { haproxyConfig } = await import('../balancer/rules/haproxy-config.ts');
  const { hostPlacement } = await import('../balancer/rules/host-placement.ts');
  const { withChecksum } = await import('../balancer/rules/checksum-line.ts');
  return withChecksum(haproxyConfig(settings, hostPlacement(settings, balancer)));
}
