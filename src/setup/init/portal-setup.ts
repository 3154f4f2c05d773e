import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sessionCookies } from '../../config/schema/portal-config.ts';
import { defaultConfigFile, defaultSettings } from '../../config/schema/default-settings.ts';
import { parseOodCluster } from '../../config/schema/ood-cluster-file.ts';
import { parseYaml } from '../../config/schema/yaml-document.ts';
import { type KeyValues, withBerthKeys } from '../../config/schema/berth-keys.ts';
import { readPortal } from '../../config/load/read-portal.ts';
import { BerthError, expectBerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { directoryNames } from '../../system/if-present.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { contextNames, hookContext } from './cluster-setup.ts';
import { hookEnvFileIn, type PortalToken } from './present-portal.ts';
import { newBerthYml } from './rules/example-text.ts';
import { oodPortalWith } from './rules/ood-portal-text.ts';
import type { FileStep, Setup } from './setup.ts';
import { tokenUnits, unitSteps } from './unit-steps.ts';

/** What an admin is asked about a portal, and where its files are. */
export interface PortalAnswers {
  /** Path of berth.yml. */
  readonly config: string;
  /** Directory of OnDemand's hook.env, clusters.d and ood_portal.yml. */
  readonly oodDirectory: string;
  /** Path of hook.env, if it is elsewhere. */
  readonly hookEnv?: string;
  readonly subjectPrefix: string;
  /** Empty: the client's ID. */
  readonly audience: string;
  /** Empty: this host trusts the identity provider's certificate. */
  readonly caFile: string;
  /** Empty: as it is, or by default. */
  readonly token: PortalToken | '';
  /** Of the exchange; empty for none. */
  readonly exchangeScope: string;
  /** Leave OnDemand's own pre-hook, which calls the two programs of Berth. */
  readonly keepHook: boolean;
  /** Root's kubeconfig with the hook's tokens. */
  readonly hookKubeconfig: string;
}

const example = sourceText('../../../etc/berth/berth.yml.example', import.meta.url);

const slice = sourceText('../../../etc/systemd/berth-broker.slice', import.meta.url);
const broker = sourceText('../../../etc/systemd/berth-broker@.service', import.meta.url);
const socket = sourceText('../../../etc/systemd/berth-broker@.socket', import.meta.url);

const units: Readonly<Record<string, string>> = {
  'berth-broker.slice': slice,
  'berth-broker@.service': broker,
  'berth-broker@.socket': socket,
  ...tokenUnits,
};

/**
 * The steps of docs/getting-started-portal.md that are done on the portal host. A berth.yml that is there keeps its
 * comments and its other keys.
 *
 * @throws {BerthError} `init-file-unsafe`; system errors
 */
export function portalSetup(answers: PortalAnswers): Setup {
  const { config, oodDirectory } = answers;
  if (!existsSync(oodDirectory))
    throw new BerthError(
      'config-missing',
      `${oodDirectory} does not exist: Open OnDemand is not on this host`,
      {
        hint: 'Install Open OnDemand first, or give the directory of its configuration with --ood-directory.',
      },
    );
  const hookEnv = answers.hookEnv ?? hookEnvFileIn(oodDirectory);
  const berth = readIfPresent(config);
  const portalText = readIfPresent(join(oodDirectory, 'ood_portal.yml'));
  const portal = portalStep(answers, portalText);
  const clusters = kubernetesClusters(join(oodDirectory, 'clusters.d'));
  const contexts = contextNames(answers.hookKubeconfig);
  const withoutToken = clusters.filter((name) => !contexts.has(hookContext(name)));
  return {
    steps: [
      berthStep(config, berth, berthKeys(answers)),
      ...(portal === undefined ? [] : [portal]),
      ...unitSteps(units),
    ],
    doctor: config === defaultConfigFile ? [] : ['--config', config],
    unfinished: clusters.length === 0 || withoutToken.length > 0 || portal?.text !== portalText,
    next: [
      ...(existsSync(hookEnv)
        ? []
        : [
            `write ${hookEnv} with IDP_ISSUER_URL, CLIENT_ID and CLIENT_SECRET, or set hook_env: null and defaults.credentials.issuer, client_id and client_secret_file in ${config}`,
          ]),
      ...nextLines(answers, {
        portalYml: portalText === undefined ? 'missing' : portal && 'written',
        clusters,
        withoutToken,
      }),
    ],
  };
}

function berthStep(path: string, present: string | undefined, keys: KeyValues): FileStep {
  const common = { path, mode: 0o644 } as const;
  return present === undefined
    ? { ...common, kind: 'whole', text: newBerthYml(example, keys) }
    : { ...common, kind: 'edit', text: withBerthKeys(present, keys) };
}

function berthKeys(answers: PortalAnswers): KeyValues {
  const { oodDirectory, subjectPrefix, audience, caFile, token, exchangeScope } = answers;
  const hookEnv = answers.hookEnv ?? hookEnvFileIn(oodDirectory);
  const clusters = join(oodDirectory, 'clusters.d');
  const credential = installedPath('shell/kube-credential');
  const filled = (path: readonly string[], value: string, otherwise = '') =>
    value === otherwise ? [] : [[path, value] as const];
  return [
    ...filled(['kube_credential'], credential, defaultSettings.kubeCredentialCommand),
    // Both names are found without being named.
    ...(hookEnv === defaultSettings.otherHookEnvFile
      ? []
      : filled(['hook_env'], hookEnv, defaultSettings.hookEnvFile)),
    ...filled(['clusters_dir'], clusters, defaultSettings.clustersDir),
    ...filled(['defaults', 'subject_prefix'], subjectPrefix),
    ...filled(['defaults', 'credentials', 'audience'], audience),
    ...filled(['defaults', 'credentials', 'ca_file'], caFile),
    ...(token === ''
      ? []
      : ([
          [['defaults', 'credentials', 'exchange'], token === 'exchange'],
          [['defaults', 'credentials', 'token'], token === 'id' ? 'id' : 'access'],
        ] as const)),
    ...filled(['defaults', 'credentials', 'exchange_scope'], exchangeScope),
  ];
}

/** @returns undefined if there is no file, or it cannot be edited without touching other keys */
function portalStep(
  { oodDirectory, keepHook }: PortalAnswers,
  text: string | undefined,
): FileStep | undefined {
  const path = join(oodDirectory, 'ood_portal.yml');
  const hook = keepHook ? undefined : installedPath('hooks/pre-pun');
  const edited = text === undefined ? undefined : oodPortalWith(text, hook, cookiesOf(path));
  if (edited === undefined) return undefined;
  const losesHook = edited.lost.some((one) => one.startsWith('pun_pre_hook_root_cmd:'));
  // It may hold the secret of OnDemand's client.
  return {
    path,
    ...edited,
    mode: 0o640,
    kind: 'edit',
    secret: true,
    ...(losesHook && { keptBy: '--keep-hook' }),
  };
}

/** The cookies that doctor wants to be stripped: their name may be set in Apache's own files. */
function cookiesOf(path: string): string[] {
  const { yml, apache } = readPortal(path);
  const found = [yml, apache].flatMap((portal) =>
    portal === undefined ? [] : [...portal.servers, { directives: portal.pun }],
  );
  return [...new Set(found.flatMap(sessionCookies))];
}

function nextLines(
  { oodDirectory, config, keepHook }: PortalAnswers,
  {
    portalYml,
    clusters,
    withoutToken,
  }: {
    readonly portalYml: 'missing' | 'written' | undefined;
    readonly clusters: readonly string[];
    readonly withoutToken: readonly string[];
  },
): string[] {
  const more = config === defaultConfigFile ? '' : ` --config ${config}`;
  return [
    ...(portalYml === 'written'
      ? []
      : [
          `add the keys of ${installedPath('share/docs/getting-started-portal.md')} to ${join(oodDirectory, 'ood_portal.yml')}: ${portalYml === 'missing' ? 'there is no such file, so OnDemand does not run the hook' : 'it is written in a way that Berth cannot edit'}`,
        ]),
    ...(keepHook
      ? [
          `have your own pre-hook run, as root: ${['k8s-bootstrap', 'set-k8s-creds'].map((name) => `${installedPath(`hooks/${name}`)} USER HOOK_ENV`).join(' and ')}`,
        ]
      : []),
    ...(clusters.length === 0
      ? [
          `there is no Kubernetes cluster in ${join(oodDirectory, 'clusters.d')}: write its file for OnDemand, or run \`berth init cluster\``,
        ]
      : []),
    ...(withoutToken.length === 0
      ? []
      : [
          `with cluster-admin rights on ${withoutToken.join(', ')}: kubectl --kubeconfig ADMIN-KUBECONFIG apply -k ${installedPath('share/etc/kubernetes')}`,
          ...withoutToken.map(
            (name) =>
              `create the hook's token: berth token setup --cluster ${name} --from ADMIN-KUBECONFIG${more}`,
          ),
          'keep it fresh: systemctl enable --now berth-token-rotate.timer',
        ]),
    'use it: /opt/ood/ood-portal-generator/sbin/update_ood_portal, and restart Apache',
    `then: berth doctor --user NAME${more}`,
  ];
}

/** Names of the clusters that OnDemand's Kubernetes adapter has; broken files are left to doctor. */
function kubernetesClusters(directory: string): string[] {
  const found: string[] = [];
  for (const name of [...directoryNames(directory)].sort()) {
    const [, cluster] = /^([^.].*)\.ya?ml$/.exec(name) ?? [];
    if (cluster === undefined) continue;
    const file = join(directory, name);
    try {
      const document = parseYaml(readIfPresent(file) ?? '', file, 'psych');
      if (parseOodCluster(document, cluster, file) !== undefined) found.push(cluster);
    } catch (error) {
      expectBerthError(error);
    }
  }
  return found;
}
