import { fstatSync } from 'node:fs';
import type { CommandModule } from 'yargs';
import type { ClusterSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { renderPoliciesCommand } from './render-policies.ts';
import { chosenClusters, loadSite, siteOptions, type SiteArguments } from './site.ts';
import type { Terminal } from './terminal.ts';

interface RenderArguments extends SiteArguments {
  readonly user: string;
  readonly cluster?: string | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly groups?: string | undefined;
  readonly output: string;
  readonly 'show-secrets': boolean;
}

/** `berth render`: a user's objects as the hook would send them, without asking any cluster. */
export function renderCommand(terminal: Terminal): CommandModule<object, RenderArguments> {
  return {
    command: 'render',
    describe: "Print a user's objects without a cluster",
    builder: (yargs) =>
      siteOptions(yargs)
        .option('user', {
          type: 'string',
          requiresArg: true,
          demandOption: true,
          // Nor demanded by the command `render policies`.
          global: false,
          describe: 'Login name',
        })
        .option('cluster', {
          type: 'string',
          requiresArg: true,
          describe: 'Needed where several are configured',
        })
        .option('uid', {
          type: 'number',
          requiresArg: true,
          describe: 'Of a user unknown to this host',
        })
        .option('gid', { type: 'number', requiresArg: true, describe: 'Primary group' })
        .option('groups', {
          type: 'string',
          requiresArg: true,
          describe: 'All groups, GIDs with commas [default: the primary one]',
        })
        .implies('uid', 'gid')
        .implies('gid', 'uid')
        .implies('groups', 'uid')
        .command(renderPoliciesCommand(terminal))
        .option('output', { alias: 'o', choices: ['yaml', 'json'], default: 'yaml' })
        .option('show-secrets', {
          type: 'boolean',
          default: false,
          describe: 'Print Secrets too; not to a terminal, nor into a file that others can read',
        })
        .example('berth render --user alice | kubectl apply --dry-run=server -f -', 'Try them')
        .example(
          'berth render --user eve --uid 5001 --gid 5001 -o json',
          'Before the account is there',
        )
        .epilogue(
          'A Secret is left out unless --show-secrets is given: applied with its contents blotted out, it would overwrite the real one.',
        ),
    handler: (args) => render(args, terminal),
  };
}

async function render(args: RenderArguments, terminal: Terminal): Promise<void> {
  if (args['show-secrets']) checkSecretsMayGo(terminal);
  const loaded = await loadSite(args);
  const cluster = theCluster(chosenClusters(loaded, args.cluster).clusters);
  const user = await wantedUser(args, loaded.settings.minimumUid);
  const { objectsFor } = await import('../clusters/bootstrap-cluster.ts');
  const { renderJson, renderYaml } = await import('./render-objects.ts');
  const objects = objectsFor({
    user,
    cluster,
    now: Math.floor(terminal.now() / 1000),
    ...(await dockerConfigOf(cluster, args['show-secrets'])),
  });
  const all = [objects.namespace, ...objects.members];
  const shown = args['show-secrets'] ? all : all.filter(({ kind }) => kind !== 'Secret');
  const hidden = all.filter((object) => !shown.includes(object));
  terminal.stdout.write(
    args.output === 'json' ? renderJson(shown) : renderYaml(shown, hidden, cluster.name),
  );
  if (args.output === 'json' && hidden.length > 0 && terminal.stderr.isTTY === true)
    terminal.stderr.write('berth: the Secret is left out; --show-secrets prints it\n');
}

function theCluster([cluster, ...others]: readonly ClusterSettings[]): ClusterSettings {
  if (cluster !== undefined && others.length === 0) return cluster;
  const names = [cluster, ...others].flatMap((one) => (one === undefined ? [] : [one.name]));
  throw new BerthError(
    names.length === 0
      ? 'no cluster is configured'
      : `which cluster? There are ${names.join(', ')}`,
    {
      code: names.length === 0 ? 'no-kubernetes-cluster' : 'usage',
      exit: names.length === 0 ? 'config' : 'usage',
      hint:
        names.length === 0
          ? 'See `berth doctor`: which files were read, and what is in them.'
          : 'Each has settings of its own: name one with --cluster.',
    },
  );
}

async function wantedUser(args: RenderArguments, minimumUid: number): Promise<User> {
  const { checkUserName, lookupUser } = await import('../identity/nss.ts');
  const { user: name, uid, gid } = args;
  if (uid === undefined || gid === undefined) return lookupUser(name, { minimumUid });
  checkUserName(name);
  const groups = (args.groups ?? '')
    .split(',')
    .filter((group) => group !== '')
    .map(Number);
  for (const id of [uid, gid, ...groups]) {
    if (!Number.isInteger(id) || id < 1 || id > 0xfffffffe)
      throw new BerthError(`${id} is no UID or GID of a user`, {
        code: 'usage',
        exit: 'usage',
        hint: '--uid 5001 --gid 5001 --groups 5001,6000',
      });
  }
  const all = [...new Set([gid, ...groups])].sort((a, b) => a - b);
  return { name, uid, gid, groups: all, home: '', shell: '' };
}

/** The file of registry credentials is opened only where its contents are wanted. */
async function dockerConfigOf(
  cluster: ClusterSettings,
  show: boolean,
): Promise<{ dockerConfig?: string }> {
  if (cluster.pullSecret === undefined) return {};
  if (!show) return { dockerConfig: '{}' };
  const { dockerConfig } = await import('../clusters/bootstrap-user.ts');
  return dockerConfig(cluster);
}

/** Secrets go into a pipe or a file of the admin's own, never onto a screen or into a log. */
function checkSecretsMayGo(terminal: Terminal): void {
  const refuse = (where: string, hint: string): never => {
    throw new BerthError(`--show-secrets prints no secrets ${where}`, {
      code: 'secrets-not-protected',
      exit: 'usage',
      hint,
    });
  };
  if (terminal.stdout.isTTY === true) refuse('to a terminal', 'Pipe it: … | kubectl apply -f -');
  const status = fstatSync(1);
  if (status.isFile() && (status.mode & 0o077) !== 0)
    refuse('into a file that others can read', 'Before it: umask 077; or chmod 600 the file.');
}
