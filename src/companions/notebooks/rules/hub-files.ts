import { stringify } from 'yaml';
import type { EmailVerified } from '../../../config/schema/settings.ts';
import { namespaceLabel } from '../../../kube/objects/well-known-names.ts';
import type { HubProfile } from './hub-profile.ts';

/** What `configure` of etc/jupyterhub takes, in the spelling of its file. */
export interface HubSettings {
  /** Path of the socket of hub-bootstrap, as the hub sees it. */
  readonly socket: string;
  /** OnDemand's name of the cluster, if there are profiles for pods. */
  readonly cluster?: string;
  readonly namespace_prefix?: string;
  /** Directory of the scripts of jobs. */
  readonly jobs?: string;
  readonly profiles: readonly HubProfile[];
  /** Traits of ldapauthenticator; the password is in the file that `…_file` names. */
  readonly ldap?: Readonly<Record<string, unknown>>;
  readonly oidc?: {
    readonly issuer: string;
    readonly client_id: string;
    readonly client_secret_file: string;
    readonly username_claim: string;
    readonly email_verified?: EmailVerified;
    readonly ca_file?: string;
  };
}

/** The files of the Python package, by name. */
export type PackageFiles = Readonly<Record<string, string>>;

/** Where Zero to JupyterHub's chart and the component put the package in a hub's container. */
const packageParent = '/usr/local/share/berth/jupyterhub';

/** What a hub is configured with, by path: a file for `config` and `chart`, a directory for `component`. */
export function hubFiles(
  form: 'config' | 'chart' | 'component',
  settings: HubSettings,
  files: PackageFiles,
): Record<string, string> {
  if (form === 'component') return hubComponent(settings, files);
  return form === 'chart'
    ? { 'berth-values.yaml': hubChartValues(settings, files) }
    : { 'berth.py': hubConfigFile(settings) };
}

/** Lines for `jupyterhub_config.py`. */
export function hubConfigFile(settings: HubSettings): string {
  // JSON has no """ in it: a quote in a text has a backslash before it, and nothing else begins after an empty text.
  const json = JSON.stringify(settings, undefined, 2);
  return `# Written by \`berth render jupyterhub\`: a change of a profile needs a new one.
import json

from berth_jupyterhub import configure

configure(c, json.loads(r"""
${json}
"""))  # noqa: F821
`;
}

/** Where the Secret `berth-hub` is, by which a hub in the cluster shows who it is (account.py). */
const tlsDirectory = '/etc/berth-hub';
const tlsSecret = 'berth-hub';

/** For a NetworkPolicy: users' servers, wherever the hook has made a namespace. */
const toServers = {
  to: [
    {
      namespaceSelector: { matchLabels: { [namespaceLabel.key]: namespaceLabel.value } },
      podSelector: { matchLabels: { component: 'singleuser-server' } },
    },
  ],
  ports: [{ port: 8888 }],
};

/** Values for Zero to JupyterHub's chart, with the package, so that no image has to be built. */
export function hubChartValues(settings: HubSettings, files: PackageFiles): string {
  const values = {
    hub: {
      extraFiles: Object.fromEntries(
        Object.entries(files).map(([name, text]) => [
          `berth-${name.replaceAll(/\W/g, '-')}`,
          { mountPath: `${packageParent}/berth_jupyterhub/${name}`, stringData: text },
        ]),
      ),
      extraEnv: { PYTHONPATH: packageParent },
      extraConfig: { 'berth.py': hubConfigFile(settings) },
      extraVolumes: [{ name: 'berth-hub', secret: { secretName: tlsSecret } }],
      extraVolumeMounts: [{ name: 'berth-hub', mountPath: tlsDirectory, readOnly: true }],
      // Servers are in other namespaces than the hub.
      networkPolicy: { interNamespaceAccessLabels: 'accept', egress: [toServers] },
    },
    proxy: { chp: { networkPolicy: { egress: [toServers] } } },
    singleuser: {
      // The hook makes the NetworkPolicy of a user's namespace, and the profile names the user's storage.
      networkPolicy: { enabled: false },
      storage: { type: 'none' },
      // A privileged container, which no user may have.
      cloudMetadata: { blockWithIptables: false },
    },
    prePuller: { hook: { enabled: false }, continuous: { enabled: false } },
    scheduling: { userScheduler: { enabled: false } },
  };
  return stringify(values, { lineWidth: 0 });
}

/** A Kustomize component for a Deployment `hub`, by path. */
function hubComponent(settings: HubSettings, files: PackageFiles): Record<string, string> {
  const config = 'berth-jupyterhub';
  const component = {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    configMapGenerator: [
      {
        name: config,
        files: ['berth.py', ...Object.keys(files).map((name) => `berth_jupyterhub/${name}`)],
      },
    ],
    patches: [{ path: 'hub.yaml', target: { kind: 'Deployment', name: 'hub' } }],
  };
  const mounts = [
    { name: config, mountPath: `${packageParent}/berth_jupyterhub`, readOnly: true },
    {
      name: config,
      mountPath: '/usr/local/etc/jupyterhub/jupyterhub_config.d/berth.py',
      subPath: 'berth.py',
      readOnly: true,
    },
    { name: tlsSecret, mountPath: tlsDirectory, readOnly: true },
  ];
  const patch = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'hub' },
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: 'hub',
              env: [{ name: 'PYTHONPATH', value: packageParent }],
              volumeMounts: mounts,
            },
          ],
          volumes: [
            { name: config, configMap: { name: config } },
            { name: tlsSecret, secret: { secretName: tlsSecret } },
          ],
        },
      },
    },
  };
  return {
    'kustomization.yaml': stringify(component, { lineWidth: 0 }),
    'hub.yaml': stringify(patch, { lineWidth: 0 }),
    'berth.py': hubConfigFile(settings),
    ...Object.fromEntries(
      Object.entries(files).map(([name, text]) => [`berth_jupyterhub/${name}`, text]),
    ),
  };
}
