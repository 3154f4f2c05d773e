import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { readTrusted } from '../system/trusted-text.ts';
import { withBerthKeys } from '../config/berth-yml-edit.ts';
import { defaultConfigFile } from '../config/default-settings.ts';
import { hookEnvSettings } from '../config/hook-env/hook-env-settings.ts';
import { parseHookEnv } from '../config/hook-env/hook-env.ts';
import { parseKubeconfig } from '../credentials/kubeconfig/kubeconfig-document.ts';
import { BerthError } from '../errors.ts';
import { installedPath } from '../installed-path.ts';
import { readContext } from '../reconcile/admin-kubeconfig.ts';
import { readIfPresent } from '../system/trusted-text.ts';
import { newBerthYml } from './rules/new-berth-yml.ts';
import { sourceText } from '../source-text.ts';
import type { CommandStep, FileStep, Setup } from './setup.ts';

/** What an admin is asked about a cluster, and where the portal's files are. */
export interface ClusterAnswers {
  /** OnDemand's name of the cluster. */
  readonly name: string;
  /** Absolute path of a kubeconfig of a cluster admin, which is not needed afterwards. */
  readonly kubeconfig: string;
  /** Context in it; default: the current one. */
  readonly context?: string;
  readonly credentials: 'oidc' | 'service-account';
  /** Install the hook's account on the cluster, and make its token. */
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

const example = sourceText('../../etc/berth/berth.yml.example', import.meta.url);
const caDirectory = 'clusters';

/**
 * OnDemand's file of a cluster, its CA, and what the hook needs on it.
 *
 * @throws {BerthError} `admin-kubeconfig-unsupported`, those of `readTrusted`, `parseKubeconfig`, `readContext` and
 *   `parseHookEnv`; system errors
 */
export function clusterSetup(answers: ClusterAnswers): Setup {
  const { name, config, clustersDir, kubeconfig } = answers;
  const { url, ca, insecureSkipTlsVerify = false } = serverOf(answers);
  // Without one, the API server's certificate is of a CA that every host trusts.
  const caFile = ca === undefined ? undefined : join(dirname(config), caDirectory, `${name}.pem`);
  if (insecureSkipTlsVerify)
    throw new BerthError(`${kubeconfig} has insecure-skip-tls-verify`, {
      code: 'admin-kubeconfig-unsupported',
      hint: 'OnDemand gives each user the CA of the cluster in a file. Write the CA into the kubeconfig instead.',
      fields: { file: kubeconfig },
    });
  if (answers.apply && !existsSync(answers.kubectl))
    throw new BerthError(`there is no ${answers.kubectl}`, {
      code: 'config-missing',
      hint: 'Install kubectl, or give its path with --kubectl.',
    });
  const more = config === defaultConfigFile ? [] : ['--config', config];
  const { apply, token } = commands(answers, more);
  return {
    steps: [
      // First what needs the cluster: OnDemand does not offer one that cannot be reached.
      ...(answers.apply ? apply : []),
      ...(caFile === undefined || ca === undefined
        ? []
        : [whole(caFile, ca.endsWith('\n') ? ca : `${ca}\n`)]),
      berthStep(answers),
      whole(join(clustersDir, `${name}.yml`), clusterFile(answers, url, caFile)),
      ...(answers.apply ? [token] : []),
    ],
    doctor: ['--cluster', name, ...more],
    next: answers.apply
      ? [`keep the token fresh: systemctl enable --now berth-token-rotate.timer`]
      : [...apply, token].map(({ argv }) => `with your rights on the cluster: ${argv.join(' ')}`),
  };
}

function whole(path: string, text: string): FileStep {
  return { path, text, mode: 0o644, kind: 'whole' };
}

function serverOf({ kubeconfig, context }: ClusterAnswers) {
  const { values } = parseKubeconfig(readTrusted(kubeconfig), kubeconfig);
  const choice = {
    ...{ file: kubeconfig, endpoint: '', onlyCluster: true },
    ...(context === undefined ? {} : { context }),
  };
  const read = (path: string) => readTrusted(resolve(dirname(kubeconfig), path));
  return readContext(values, choice, read).server;
}

/** The context is named, because root's kubeconfig may also have an admin's for the same address. */
function berthStep({ config, name, credentials }: ClusterAnswers): FileStep {
  const present = readIfPresent(config) ?? newBerthYml(example, []);
  const text = withBerthKeys(present, [
    [['clusters', name, 'admin', 'context'], `berth-hook@${name}`],
    ...(credentials === 'oidc'
      ? []
      : ([[['clusters', name, 'credentials', 'mode'], 'service-account']] as const)),
  ]);
  return { path: config, text, mode: 0o644, kind: 'edit' };
}

function clusterFile(
  { name, credentials, kubectl, hookEnv }: ClusterAnswers,
  endpoint: string,
  caFile: string | undefined,
): string {
  const present = readIfPresent(hookEnv);
  const { namespacePrefix = '', usernamePrefix = '' } =
    present === undefined ? {} : hookEnvSettings(parseHookEnv(present, hookEnv), hookEnv);
  const job = {
    adapter: 'kubernetes',
    cluster: name,
    context: name,
    bin: kubectl,
    ...(usernamePrefix === '' ? {} : { username_prefix: usernamePrefix }),
    ...(namespacePrefix === '' ? {} : { namespace_prefix: namespacePrefix }),
    // Without OIDC, Berth writes tokens of a ServiceAccount.
    auth: { type: credentials === 'oidc' ? 'oidc' : 'managed' },
    server: { endpoint, ...(caFile === undefined ? {} : { cert_authority_file: caFile }) },
  };
  const head = [
    '# A cluster for OnDemand and Berth, made by `berth init cluster`. You may edit it.',
    '# The prefixes must be those of hook.env.',
  ];
  // OnDemand's links to a shell on the node of a job.
  const v2 = { metadata: { title: name }, job, batch_connect: { ssh_allow: false } };
  return `${head.join('\n')}\n${stringify({ v2 }, { lineWidth: 0 })}`;
}

function commands(answers: ClusterAnswers, more: readonly string[]) {
  const { name, kubeconfig, context, kubectl, credentials, hookKubeconfig } = answers;
  const admin = [
    ...[kubectl, '--kubeconfig', kubeconfig],
    ...(context === undefined ? [] : ['--context', context]),
  ];
  const manifests = [
    installedPath('share/etc/kubernetes'),
    ...(credentials === 'oidc'
      ? []
      : [installedPath('share/etc/kubernetes/service-account-tokens')]),
  ];
  const hook = [kubectl, '--kubeconfig', hookKubeconfig, '--context', `berth-hook@${name}`];
  return {
    apply: manifests.map((directory) => ({
      argv: [...admin, 'apply', '-k', directory],
      unless: [...admin, 'diff', '-k', directory],
    })),
    token: {
      argv: [
        ...['berth', 'token', 'setup', '--cluster', name, '--from', kubeconfig],
        ...(context === undefined ? [] : ['--context', context]),
        ...more,
      ],
      unless: [...hook, 'auth', 'whoami'],
    },
  } satisfies Record<string, CommandStep | CommandStep[]>;
}
