import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { namedProfile } from '../../config/schema/profile/named-profile.ts';
import { type ClusterSettings, oidcSettingsOf } from '../../config/schema/settings.ts';
import type { HubSettings, PackageFiles } from './rules/hub-files.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import { type ArgumentsOf, choice, list, text, words } from '../../cli/kit/options.ts';
import { outputDirectory } from '../../cli/kit/output-path.ts';
import {
  chosenClusters,
  configFileOf,
  loadSite,
  loadSsh,
  noSingleCluster,
  siteOptions,
} from '../../cli/kit/site-options.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';
import { warnOfMissingImages } from './warn-of-missing-images.ts';
import { writeFiles } from '../../cli/render/write-files.ts';

const positionals = {
  profile: {
    ...words('profile', 'Profiles that users can choose as pods, the first one is preselected'),
    default: [] as string[],
  },
};

const options = {
  ...siteOptions,
  cluster: text('cluster', 'Cluster of the pods; required if several are configured'),
  form: choice(
    ['config', 'jobs', 'chart', 'component'],
    'For a hub on a host, the scripts of its jobs, values of the Zero to JupyterHub chart, or a Kustomize component',
    { default: 'config' },
  ),
  directory: text(
    'directory',
    'Where to write it: berth.py, berth-values.yaml or the component [default: print it]',
  ),
  slurm: list('profile', 'Profiles that users can choose as jobs of Slurm'),
  jobs: text(
    'directory',
    'Where the scripts of the jobs are, which --form jobs writes [default: /etc/jupyterhub/berth-jobs]',
  ),
  'hub-account': text('user', "The hub's account, for sudo [default: jupyterhub]"),
  socket: text(
    'ADDRESS',
    'Where the hub asks for accounts: a path, or tls://HOST:PORT from a cluster',
    { default: '/run/berth/hub.sock' },
  ),
  login: choice(
    ['ldap', 'oidc'],
    "Also configure the login: ldap of berth.yml, or the identity provider of the cluster's users",
  ),
  'ldap-password-file': text(
    'PATH',
    "File with the password of the directory's reader, on the hub [default: /etc/jupyterhub/ldap-password]",
  ),
  'client-id': text('ID', "The hub's client at the identity provider"),
  'client-secret-file': text('PATH', "File with that client's secret, on the hub"),
  'username-claim': text(
    'CLAIM',
    'Claim with the name of the account [default: credentials.username_claim of the cluster]',
  ),
};

type HubArguments = ArgumentsOf<typeof options & typeof positionals>;

/** `berth render jupyterhub PROFILE…`. */
export const renderJupyterhubCommand = command({
  ...companionCommands.renderJupyterhub,
  positionals,
  options,
  needs: {
    '--jobs': '--slurm',
    '--hub-account': '--form jobs',
    '--ldap-password-file': '--login ldap',
    '--client-secret-file': '--client-id',
    '--client-id': '--login oidc',
    '--username-claim': '--login oidc',
  },
  without: {
    '--slurm': ['--form chart', '--form component'],
    '--cluster': ['--form jobs'],
    '--directory': ['--form jobs'],
    '--socket': ['--form jobs'],
    '--login': ['--form jobs'],
  },
  examples: [
    [
      'berth render jupyterhub notebook gpu --login ldap --directory /etc/jupyterhub',
      'For a hub on this host',
    ],
    [
      'berth render jupyterhub notebook --form chart --socket tls://portal.example.org:8444 --directory .',
      'Values for `helm upgrade hub jupyterhub/jupyterhub`',
    ],
    [
      'berth render jupyterhub --slurm gpu --form jobs',
      'Write the job script and the sudoers file of a hub whose servers are jobs',
    ],
  ],
  epilogue: `No cluster is contacted. ${installedPath('share/docs/jupyterhub.md')} has the set-up, step by step.`,
  run: render,
});

/** @throws {BerthError} `usage`, `profile-missing`, `cluster-unknown`, `hub-login-unsupported`, `hub-job-unsupported`, `directory-unsafe` */
async function render(args: HubArguments, terminal: Terminal): Promise<void> {
  const { profile, slurm = [], form, jobs = '/etc/jupyterhub/berth-jobs' } = args;
  if (profile.length + slurm.length === 0) throw wrong('name a profile, or give --slurm PROFILE');
  if ((form === 'chart' || form === 'component') && !args.socket.startsWith('tls://'))
    throw wrong(
      `--form ${form} needs --socket tls://HOST:PORT: a pod does not have ${args.socket}`,
    );
  if (!/^(?:\/[\w.-]+)+$/.test(jobs)) throw wrong('--jobs is not an absolute path of plain names');
  // `--config` is berth.yml.
  const ssh = await loadSsh({ 'config-dir': args['config-dir'] });
  const { hubPodProfile } = await import('./rules/hub-profile.ts');
  const { hubJobFiles, hubJobProfile } = await import('./rules/hub-jobs.ts');
  const podProfiles = profile.map((name) => namedProfile(ssh, name));
  warnOfMissingImages(podProfiles, terminal);
  const pods = podProfiles.map(hubPodProfile);
  const choices = slurm.map((name) => hubJobProfile(namedProfile(ssh, name), profile));
  if (form === 'jobs') {
    if (choices.length === 0) throw wrong('--form jobs needs --slurm');
    // sudo runs what is there as other accounts.
    const { ensureRootDirectory } = await import('../../system/safe-directories.ts');
    for (const path of ancestors(jobs)) ensureRootDirectory(path);
    const account = args['hub-account'] ?? 'jupyterhub';
    await write(terminal, '--jobs', jobs, hubJobFiles({ account, directory: jobs }, choices, ssh));
    return;
  }
  const cluster = pods.length > 0 || args.login === 'oidc' ? await clusterOf(args) : undefined;
  const hub: HubSettings = {
    socket: args.socket,
    ...(cluster && { cluster: cluster.name, namespace_prefix: cluster.namespacePrefix }),
    ...(choices.length > 0 && { jobs }),
    profiles: [...pods, ...choices.map(({ choice }) => choice)],
    ...(await loginOf(args, cluster)),
  };
  if (pods.length > 0 && !cluster?.jupyterhub)
    terminal.stderr.write(
      `warning: berth.yml has no section jupyterhub for the cluster ${cluster?.name ?? ''}: it will let the hub start no pods\n`,
    );
  const { hubFiles } = await import('./rules/hub-files.ts');
  const files = hubFiles(form, hub, form === 'config' ? {} : await packageFiles());
  const { directory } = args;
  if (directory !== undefined) await write(terminal, '--directory', directory, files);
  else if (form === 'component') throw wrong('--form component needs --directory');
  else terminal.stdout.write(Object.values(files).join(''));
}

/** `/a`, `/a/b` and `/a/b/c` of `/a/b/c`. */
function ancestors(path: string): string[] {
  const parts = path.split('/').slice(1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

/** The cluster of the pods. @throws {BerthError} `usage`, `cluster-unknown`, `no-kubernetes-cluster` */
async function clusterOf(args: HubArguments): Promise<ClusterSettings> {
  const { clusters } = chosenClusters(await loadSite(args), args.cluster);
  const [cluster, ...others] = clusters;
  if (cluster !== undefined && others.length === 0) return cluster;
  throw noSingleCluster(clusters, 'Select the cluster of the notebooks with --cluster.');
}

async function loginOf(
  args: HubArguments,
  cluster: ClusterSettings | undefined,
): Promise<Pick<HubSettings, 'ldap' | 'oidc'>> {
  if (args.login === 'ldap') {
    const { loadLdapSettings } = await import('../../config/load/load-ldap-settings.ts');
    const { hubLdapTraits } = await import('./rules/hub-ldap.ts');
    const configFile = configFileOf(args);
    const { ldap } = loadLdapSettings({ configFile, groupMayRead: false });
    const passwordFile = args['ldap-password-file'] ?? '/etc/jupyterhub/ldap-password';
    return { ldap: hubLdapTraits(ldap, passwordFile) };
  }
  if (args.login === undefined || cluster === undefined) return {};
  const { 'client-id': id, 'client-secret-file': secret } = args;
  if (id === undefined || secret === undefined)
    throw wrong('--login oidc needs --client-id and --client-secret-file');
  const provider = oidcSettingsOf(cluster);
  if (provider === undefined)
    throw new BerthError(
      'hub-login-unsupported',
      `the users of cluster ${cluster.name} have no identity provider`,
    );
  return {
    oidc: {
      issuer: provider.issuer,
      client_id: id,
      client_secret_file: secret,
      username_claim: args['username-claim'] ?? provider.usernameClaim,
      email_verified: provider.emailVerified,
      ca_file: provider.caFile,
    },
  };
}

/** The hub's package, as it is installed with Berth. */
async function packageFiles(): Promise<PackageFiles> {
  const directory = installedPath('share/etc/jupyterhub/berth_jupyterhub');
  const names = (await readdir(directory)).filter((name) => name.endsWith('.py')).sort();
  const texts = names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')]);
  return Object.fromEntries(await Promise.all(texts)) as PackageFiles;
}

async function write(
  terminal: Terminal,
  option: string,
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const all = Object.entries(files).map(([path, text]) => ({ path, text }));
  await writeFiles(terminal, outputDirectory(option, directory), all);
}

function wrong(message: string): BerthError {
  return new BerthError('usage', message, { hint: 'See `berth render jupyterhub --help`.' });
}
