import { fstatSync } from 'node:fs';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { companionCommands } from '../companions.ts';
import { command } from '../kit/command.ts';
import {
  type ArgumentsOf,
  flag,
  list,
  manifestOutputOption,
  number,
  text,
} from '../kit/options.ts';
import { chosenClusters, loadSite, noSingleCluster, siteOptions } from '../kit/site-options.ts';
import { type Terminal, errorText } from '../kit/terminal.ts';
import { renderPoliciesCommand } from './policies.ts';

const options = {
  ...siteOptions,
  user: text('user', 'Login name', { demandOption: true }),
  cluster: text('cluster', 'Cluster; required if several are configured'),
  uid: number('UID', 'UID, for a user unknown to this host'),
  gid: number('GID', 'Primary group'),
  groups: list('GID', 'GIDs of all groups [default: the primary group]'),
  output: manifestOutputOption,
  'show-secrets': flag(
    'Also print Secrets; refused for a terminal and for a file that others can read',
  ),
};

type RenderArguments = ArgumentsOf<typeof options>;

/** `berth render`: the objects of a user as the hook would apply them, without asking a cluster. */
export const renderCommand = command({
  command: 'render',
  describe:
    'Print the objects of a user, policies, the balancer, pages for users, or a profile for Slurm, JupyterHub or OnDemand',
  options,
  needs: { '--uid': '--gid', '--gid': '--uid', '--groups': '--uid' },
  commands: [
    renderPoliciesCommand,
    companionCommands.renderBalancer,
    companionCommands.renderPages,
    companionCommands.renderSbatch,
    companionCommands.renderJupyterhub,
    companionCommands.renderOndemandApp,
  ],
  examples: [
    ['berth render --user alice | kubectl apply --dry-run=server -f -', 'Test the objects'],
    [
      'berth render --user eve --uid 5001 --gid 5001 -o json',
      'Print JSON for an account that does not exist yet',
    ],
  ],
  epilogue:
    'No cluster is contacted. Without --show-secrets, Secrets are left out: applying a Secret without its contents would overwrite the real one.',
  run: render,
});

async function render(args: RenderArguments, terminal: Terminal): Promise<void> {
  if (args['show-secrets']) checkSecretsMayGo(terminal);
  const loaded = await loadSite(args);
  const cluster = theCluster(loaded, args.cluster, terminal);
  const user = await wantedUser(args, loaded.settings.minimumUid);
  const { userObjectsOn } = await import('../../clusters/access/bootstrap-user.ts');
  const { renderJson, renderYaml } = await import('./objects.ts');
  const objects = userObjectsOn({
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

/** Also one whose users' credentials are not configured: their objects do not depend on them. */
function theCluster(
  loaded: LoadedSiteSettings,
  name: string | undefined,
  terminal: Terminal,
): ClusterSettings {
  const broken = loaded.broken.filter((one) => name === undefined || one.cluster === name);
  const usable = broken.filter(({ withoutCredentials }) => withoutCredentials !== undefined);
  const clusters =
    name !== undefined && usable.length > 0 ? [] : chosenClusters(loaded, name).clusters;
  const [cluster, ...others] = [
    ...clusters,
    ...usable.flatMap((one) => one.withoutCredentials ?? []),
  ];
  const [fault] = broken;
  if (cluster === undefined && fault !== undefined) throw fault.error;
  if (cluster !== undefined && others.length === 0) {
    for (const { error, withoutCredentials } of usable)
      if (withoutCredentials === cluster) terminal.stderr.write(errorText(error));
    return cluster;
  }
  throw noSingleCluster(
    [cluster, ...others].flatMap((one) => one ?? []),
    'Select one with --cluster, because each cluster has its own settings.',
  );
}

async function wantedUser(args: RenderArguments, minimumUid: number): Promise<User> {
  const { checkUserName, lookupUser } = await import('../../system/identity/nss.ts');
  const { user: name, uid, gid } = args;
  if (uid === undefined || gid === undefined) return lookupUser(name, { minimumUid });
  checkUserName(name);
  const groups = (args.groups ?? []).map(Number);
  for (const id of [uid, gid, ...groups]) {
    if (!Number.isInteger(id) || id < 1 || id > 0xfffffffe)
      throw new BerthError('usage', `${id} is not a UID or GID of a user`, {
        hint: 'Give numbers from 1 to 4294967294, for example: --uid 5001 --gid 5001 --groups 5001,6000',
      });
  }
  const all = [...new Set([gid, ...groups])].sort((a, b) => a - b);
  return { name, uid, gid, groups: all, home: '', shell: '' };
}

/** Reads the file of the pull secret only if its contents are printed. */
async function dockerConfigOf(
  cluster: ClusterSettings,
  show: boolean,
): Promise<{ dockerConfig?: string }> {
  if (cluster.pullSecret === undefined) return {};
  if (!show) return { dockerConfig: '{}' };
  const { readDockerConfig } = await import('../../clusters/access/bootstrap-user.ts');
  return readDockerConfig(cluster);
}

/** Allows Secrets in a pipe or a private file only, not on a screen or in a log. */
function checkSecretsMayGo(terminal: Terminal): void {
  const refuse = (where: string, hint: string): never => {
    throw new BerthError(
      'secrets-not-protected',
      `--show-secrets does not print Secrets ${where}`,
      {
        hint,
      },
    );
  };
  if (terminal.stdout.isTTY === true) refuse('to a terminal', 'Pipe it: … | kubectl apply -f -');
  const status = fstatSync(1);
  if (status.isFile() && (status.mode & 0o077) !== 0)
    refuse(
      'into a file that others can read',
      'Run `umask 077` before the redirection, or `chmod 600` the file.',
    );
}
