import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { parseYaml } from '../../config/schema/yaml-document.ts';
import { type KeyValues, withBerthKeys } from '../../config/schema/berth-keys.ts';
import { defaultConfigFile } from '../../config/schema/default-settings.ts';
import { hookEnvSettings } from '../../config/schema/hook-env/hook-env-settings.ts';
import { parseHookEnv } from '../../config/schema/hook-env/hook-env.ts';
import { parseKubeconfig } from '../../credentials/kubeconfig/kubeconfig-document.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { readContext } from '../../kube/admin-kubeconfig.ts';
import { readIfPresent, readTrusted } from '../../system/trusted-text.ts';
import { newBerthYml } from './rules/example-text.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { type CommandStep, type FileStep, type Setup, type SetupStep, whole } from './setup.ts';

/** What an admin is asked about a cluster, and where the files of this host are. */
export interface ClusterAnswers {
  /** For whom root needs the cluster: the hook of a portal, or the SSH sessions of a login node. */
  readonly purpose: 'portal' | 'login-node';
  /** OnDemand's name of the cluster. */
  readonly name: string;
  /**
   * Absolute path of a kubeconfig. With `apply`, of a cluster admin, which is not needed afterwards. Without, a login node
   * goes on using it.
   */
  readonly kubeconfig: string;
  /** Context in it; default: the current one. */
  readonly context?: string;
  readonly credentials: 'oidc' | 'service-account';
  /** Prefix of the namespaces of users. Default: that of hook.env. */
  readonly namespacePrefix?: string;
  /** Install the account on the cluster, and make its token. */
  readonly apply: boolean;
  /** Path of kubectl, also for OnDemand. */
  readonly kubectl: string;
  /** Path of berth.yml. */
  readonly config: string;
  readonly clustersDir: string;
  readonly hookEnv: string;
  /** Root's kubeconfig, which gets the hook's token. */
  readonly hookKubeconfig: string;
}

const example = sourceText('../../../etc/berth/berth.yml.example', import.meta.url);
const caDirectory = 'clusters';

/**
 * OnDemand's file of a cluster, its CA, and what the hook needs on it.
 *
 * @param policies the steps of the admission policies
 * @throws {BerthError} `admin-kubeconfig-unsupported`, those of `readTrusted`, `parseKubeconfig`, `readContext` and
 *   `parseHookEnv`; system errors
 */
export function clusterSetup(answers: ClusterAnswers, policies: readonly SetupStep[] = []): Setup {
  const { name, config, clustersDir, kubeconfig, purpose } = answers;
  const { server, proxyUrl } = accessOf(answers);
  const { url, ca, insecureSkipTlsVerify = false, tlsServerName } = server;
  // Without one, the API server's certificate is of a CA that every host trusts.
  const caFile = ca === undefined ? undefined : join(dirname(config), caDirectory, `${name}.pem`);
  const refuse = (field: string, hint: string): never => {
    const fields = { file: kubeconfig };
    throw new BerthError('admin-kubeconfig-unsupported', `${kubeconfig} has ${field}`, {
      hint,
      fields,
    });
  };
  if (insecureSkipTlsVerify)
    refuse(
      'insecure-skip-tls-verify',
      'OnDemand gives each user the CA of the cluster in a file. Write the CA into the kubeconfig instead.',
    );
  if (tlsServerName !== undefined && purpose === 'portal')
    refuse(
      `tls-server-name: ${tlsServerName}`,
      'OnDemand writes the address and the CA of the cluster into the kubeconfig of each user, and no name of the certificate. Use an address that the certificate names, here and in a copy of the kubeconfig.',
    );
  if (proxyUrl !== undefined && (purpose === 'portal' || !answers.apply))
    refuse(
      // Without what may be a password in it.
      `proxy-url: ${proxyUrl.replace(/\/\/[^/]*@/, '//')}`,
      'Neither the kubeconfigs of users nor logins use a proxy. If this host reaches the API server without one, take proxy-url out of a copy of the kubeconfig, and give that.',
    );
  if (answers.apply && !existsSync(answers.kubectl))
    throw new BerthError('config-missing', `there is no ${answers.kubectl}`, {
      hint: 'Install kubectl, or give its path with --kubectl.',
    });
  const more = config === defaultConfigFile ? [] : ['--config', config];
  const { apply, token } = commands(answers, more);
  return {
    steps: [
      // First what needs the cluster: OnDemand does not offer one that cannot be reached.
      ...(answers.apply ? apply : []),
      ...policies,
      ...(caFile === undefined || ca === undefined
        ? []
        : [whole(caFile, ca.endsWith('\n') ? ca : `${ca}\n`)]),
      berthStep(answers, existsSync(answers.hookEnv)),
      whole(join(clustersDir, `${name}.yml`), clusterFile(answers, url, caFile)),
      ...(answers.apply ? [token] : []),
    ],
    doctor: ['--cluster', name, ...more],
    next: nextLines(answers, [...apply, token]),
    undo: contextNames(answers.hookKubeconfig).has(hookContext(name)) ? token.undo : [],
  };
}

/** The contexts of root's kubeconfig, such as those of `berth token setup`. */
export function contextNames(file: string): ReadonlySet<unknown> {
  const { contexts } = mappingOrEmpty(parseYaml(readIfPresent(file) ?? '', file, 'kubectl'));
  return new Set(Array.isArray(contexts) ? contexts.map((one) => mappingOrEmpty(one).name) : []);
}

/** The context that `berth token setup` writes. */
export function hookContext(cluster: string): string {
  return `berth-hook@${cluster}`;
}

/** A login node starts the timer with its other units, and without `apply` it has access already. */
function nextLines(
  { purpose, apply, kubeconfig }: ClusterAnswers,
  commands: readonly CommandStep[],
): string[] {
  if (purpose === 'login-node') return [];
  return apply
    ? [
        'keep the token fresh: systemctl enable --now berth-token-rotate.timer',
        `this host does not need the admin's kubeconfig any more: ${shellWords(['rm', kubeconfig])}`,
      ]
    : commands.map(({ argv }) => `with your rights on the cluster: ${argv.join(' ')}`);
}

function accessOf({ kubeconfig, context }: ClusterAnswers) {
  const { values } = parseKubeconfig(readTrusted(kubeconfig), kubeconfig);
  const choice = {
    file: kubeconfig,
    endpoint: '',
    onlyCluster: true,
    context,
  };
  const read = (path: string) => readTrusted(resolve(dirname(kubeconfig), path));
  return readContext(values, choice, read);
}

function berthStep(answers: ClusterAnswers, hasHookEnv: boolean): FileStep {
  const { config } = answers;
  const present = readIfPresent(config);
  const keys = berthKeys(answers, hasHookEnv, present);
  const text = present === undefined ? newBerthYml(example, keys) : withBerthKeys(present, keys);
  return { path: config, text, mode: 0o644, kind: 'edit' };
}

/** The context is named, because root's kubeconfig may also have an admin's for the same address. */
function berthKeys(
  { config, purpose, name, credentials, apply, ...access }: ClusterAnswers,
  hasHookEnv: boolean,
  present = '',
): KeyValues {
  const { kubeconfig, context, hookKubeconfig } = access;
  const own = (...path: readonly string[]) => ['clusters', name, ...path];
  if (purpose === 'portal')
    return [
      [own('admin', 'context'), hookContext(name)],
      ...(credentials === 'oidc'
        ? []
        : ([[own('credentials', 'mode'), 'service-account']] as const)),
    ];
  const { clusters } = mappingOrEmpty(parseYaml(present, config, 'core'));
  const { ssh_sessions: sessions } = mappingOrEmpty(mappingOrEmpty(clusters)[name]);
  return [
    // Without a portal on this host, users get no credentials: `auth: oidc` of the portal's file needs nothing.
    ...(hasHookEnv
      ? []
      : ([
          [['hook_env'], null],
          [own('credentials', 'mode'), 'none'],
        ] as const)),
    // What an earlier run wrote for another kubeconfig goes.
    [own('admin', 'kubeconfig'), apply || kubeconfig === hookKubeconfig ? undefined : kubeconfig],
    [own('admin', 'context'), apply ? hookContext(name) : context],
    ...(sessions === undefined ? [[own('ssh_sessions'), {}] as const] : []),
  ];
}

function clusterFile(
  { purpose, name, credentials, kubectl, hookEnv, namespacePrefix: given }: ClusterAnswers,
  endpoint: string,
  caFile: string | undefined,
): string {
  const present = readIfPresent(hookEnv);
  const site =
    present === undefined ? undefined : hookEnvSettings(parseHookEnv(present, hookEnv), hookEnv);
  const usernamePrefix = site?.usernamePrefix ?? '';
  const namespacePrefix = given ?? site?.namespacePrefix ?? '';
  const job = {
    adapter: 'kubernetes',
    cluster: name,
    context: name,
    bin: kubectl,
    ...(usernamePrefix !== '' && { username_prefix: usernamePrefix }),
    ...(namespacePrefix !== '' && { namespace_prefix: namespacePrefix }),
    // Without OIDC, Berth writes tokens of a ServiceAccount; on a login node none.
    auth: { type: purpose === 'portal' && credentials === 'oidc' ? 'oidc' : 'managed' },
    server: { endpoint, ...(caFile !== undefined && { cert_authority_file: caFile }) },
  };
  const head = [
    '# A cluster for OnDemand and Berth, made by `berth init`. You may edit it.',
    '# The prefixes must be those of hook.env, and on a login node those of the portal.',
  ];
  // OnDemand's links to a shell on the node of a job.
  const v2 = { metadata: { title: name }, job, batch_connect: { ssh_allow: false } };
  return `${head.join('\n')}\n${stringify({ v2 }, { lineWidth: 0 })}`;
}

/** kubectl with the kubeconfig of the answers. */
export function adminKubectl({ kubectl, kubeconfig, context }: ClusterAnswers): string[] {
  return [
    kubectl,
    '--kubeconfig',
    kubeconfig,
    ...(context === undefined ? [] : ['--context', context]),
  ];
}

function commands(answers: ClusterAnswers, more: readonly string[]) {
  const { purpose, name, kubeconfig, context, kubectl, credentials, hookKubeconfig } = answers;
  const forLogin = purpose === 'login-node';
  const admin = adminKubectl(answers);
  const manifests = [
    installedPath('share/etc/kubernetes'),
    ...(forLogin ? [installedPath('share/etc/kubernetes/ssh-sessions')] : []),
    ...(forLogin || credentials === 'oidc'
      ? []
      : [installedPath('share/etc/kubernetes/service-account-tokens')]),
  ];
  const hook = [kubectl, '--kubeconfig', hookKubeconfig, '--context', hookContext(name)];
  return {
    apply: manifests.map((directory) => ({
      argv: [...admin, 'apply', '-k', directory],
      unless: [...admin, 'diff', '-k', directory],
    })),
    token: {
      argv: [
        'berth',
        'token',
        'setup',
        '--cluster',
        name,
        '--from',
        kubeconfig,
        ...(context === undefined ? [] : ['--context', context]),
        ...(forLogin ? ['--service-account', 'ondemand/berth-login'] : []),
        ...more,
      ],
      // The account of the hook has no right to start sessions.
      unless: [
        ...hook,
        'auth',
        ...(forLogin ? ['can-i', 'bind', 'clusterroles/berth-session'] : ['whoami']),
      ],
      // The token, too.
      undo: ['context', 'user', 'cluster'].map((entry) => [
        kubectl,
        '--kubeconfig',
        hookKubeconfig,
        'config',
        `delete-${entry}`,
        hookContext(name),
      ]),
    },
  } satisfies Record<string, CommandStep | CommandStep[]>;
}
