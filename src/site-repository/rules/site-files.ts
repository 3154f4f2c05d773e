import { parseAllDocuments, stringify } from 'yaml';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { sourceText } from '../../source-text.ts';
import { componentFiles } from './component-files.ts';

/** A file of the repository. */
export interface SiteFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  /** Written once, and then the admin's own. The others are Berth's, and follow its version and configuration. */
  readonly once?: true;
}

export interface SiteOptions {
  readonly clusters: readonly Pick<
    ClusterSettings,
    | 'name'
    | 'credentials'
    | 'jobPodReaper'
    | 'pullSecret'
    | 'jupyterhub'
    | 'userRoles'
    | 'volumeClaims'
  >[];
  /** Of `optionalComponents`. */
  readonly components: readonly string[];
  /** The text of the admission policies. */
  readonly policies: string;
  /** The image of the CronJobs, with a tag or a digest; without one they stay suspended. */
  readonly image?: string;
  readonly gitUrl: string;
  readonly gitops: 'flux' | 'argo-cd';
}

const flux = sourceText('../../../etc/gitops/flux/berth.yaml', import.meta.url);
const sops = sourceText('../../../etc/gitops/sops.yaml', import.meta.url);
const exampleUrl = 'https://git.example.org/hpc/clusters.git';
const hookSecret = 'ondemand-pull-secret';
const head = '# Written by `berth render site`. Do not edit.\n';

/** The files of a Git repository with Berth for each cluster. None has a secret. */
export function siteFiles(options: SiteOptions): readonly SiteFile[] {
  const { clusters, gitops } = options;
  const used = new Set(clusters.flatMap((one) => componentsOf(one, options)));
  const names = clusters.map(({ name }) => name);
  return [
    { path: 'README.md', text: readme(names, gitops), once: true },
    ...(gitops === 'flux' ? [{ path: '.sops.yaml', text: sops, once: true } as const] : []),
    ...[...used].sort().flatMap((component) => componentOf(component, options)),
    ...clusters.flatMap((cluster) => clusterFiles(cluster, options)),
  ];
}

function componentsOf(
  {
    credentials,
    jobPodReaper,
    jupyterhub,
    userRoles = [],
    volumeClaims = [],
  }: SiteOptions['clusters'][number],
  { components }: SiteOptions,
): readonly string[] {
  // OSC's job-pod-reaper does the work of the reaper there.
  const wanted = components.filter((one) => one !== 'reaper' || !jobPodReaper);
  const tokens = credentials.mode === 'service-account' ? ['service-account-tokens'] : [];
  const hub = jupyterhub ? ['jupyterhub'] : [];
  const extra = userRoles.length > 0 ? ['user-roles'] : [];
  const claims = volumeClaims.length > 0 ? ['volume-claims'] : [];
  const following = [...tokens, ...hub, ...extra, ...claims];
  return [...new Set(['hook', 'roles', 'guard', ...following, ...wanted])];
}

function componentOf(component: string, { policies }: SiteOptions): SiteFile[] {
  const all: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    ...componentFiles,
    admission: { 'policies.yaml': policies },
  };
  const files = Object.entries(all[component] ?? {});
  const kustomization = {
    ...{ apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component' },
    resources: files.map(([name]) => name),
  };
  return [['kustomization.yaml', `${head}${stringify(kustomization)}`], ...files].map(
    ([name = '', text = '']) => ({ path: `berth/${component}/${name}`, text }),
  );
}

function clusterFiles(
  cluster: SiteOptions['clusters'][number],
  options: SiteOptions,
): readonly SiteFile[] {
  const { name } = cluster;
  const own = {
    ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' },
    resources: ['berth'],
  };
  const hint =
    '# Yours: add your encrypted Secrets to `resources`, and `patches` for what differs on this cluster.\n';
  return [
    { path: `clusters/${name}/kustomization.yaml`, text: `${hint}${stringify(own)}`, once: true },
    {
      path: `clusters/${name}/berth/kustomization.yaml`,
      text: `${head}${stringify(generated(cluster, options), { lineWidth: 0 })}`,
    },
    { path: `${options.gitops}/${name}.yaml`, text: syncText(name, options), once: true },
  ];
}

function generated(cluster: SiteOptions['clusters'][number], options: SiteOptions): object {
  const { image } = options;
  const components = componentsOf(cluster, options);
  const cronJobs = ['reaper', 'ldap-sync'].filter((one) => components.includes(one));
  const patches = [
    ...pullSecretPatch(cluster.pullSecret?.name ?? hookSecret),
    ...hubPatch(cluster.jupyterhub),
    ...userRolesPatch(cluster.userRoles),
    ...(image === undefined || !components.includes('reaper') ? [] : [resumed]),
  ];
  return {
    ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' },
    components: components.map((one) => `../../../berth/${one}`),
    ...(image === undefined || cronJobs.length === 0 ? {} : { images: [imageOf(image)] }),
    ...(patches.length === 0 ? {} : { patches }),
  };
}

/** The LDAP sync stays suspended: it needs a ConfigMap and a Secret first. */
const resumed = {
  target: { kind: 'CronJob', name: 'berth-reaper' },
  patch: stringify([{ op: 'replace', path: '/spec/suspend', value: false }]),
};

/** The hook may read and write only pull secrets with the name that it is told. */
function pullSecretPatch(name: string): object[] {
  if (name === hookSecret) return [];
  const hook = parseAllDocuments(componentFiles.hook['hook.yaml'])
    .map((one) => one.toJS() as { kind: string; rules?: { resourceNames?: string[] }[] })
    .find(({ kind }) => kind === 'ClusterRole');
  const index = hook?.rules?.findIndex((rule) => rule.resourceNames?.includes(hookSecret)) ?? -1;
  const patch = [{ op: 'replace', path: `/rules/${index}/resourceNames`, value: [name] }];
  return [{ target: { kind: 'ClusterRole', name: 'berth-hook' }, patch: stringify(patch) }];
}

/** The account that the policy names is that of the Zero to JupyterHub chart. */
function hubPatch(hub: ClusterSettings['jupyterhub']): object[] {
  if (!hub) return [];
  const patch = [hub.namespace, hub.serviceAccount].map((value, index) => ({
    ...{ op: 'replace', path: `/spec/variables/${index}/expression`, value: `'${value}'` },
  }));
  const target = { kind: 'ValidatingAdmissionPolicy', name: 'berth-jupyterhub-guard' };
  return [{ target, patch: stringify(patch) }];
}

/** The hook may bind the roles that it is told, in the only rule of its role. */
function userRolesPatch(roles: readonly string[] = []): object[] {
  if (roles.length === 0) return [];
  const patch = [{ op: 'replace', path: '/rules/0/resourceNames', value: roles }];
  const target = { kind: 'ClusterRole', name: 'berth-hook-user-roles' };
  return [{ target, patch: stringify(patch) }];
}

/** A transformer of images, for `NAME:TAG` or `NAME@DIGEST`. */
function imageOf(image: string): object {
  const name = 'registry.example.org/berth';
  const [withoutDigest = '', digest] = image.split('@');
  if (digest !== undefined) return { name, newName: withoutDigest, digest };
  const colon = image.lastIndexOf(':');
  return { name, newName: image.slice(0, colon), newTag: image.slice(colon + 1) };
}

function syncText(name: string, { gitops, gitUrl }: SiteOptions): string {
  const path = `clusters/${name}`;
  if (gitops === 'flux') return flux.replace(exampleUrl, gitUrl).replace('clusters/prod', path);
  const application = {
    ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
    metadata: { name: `berth-${name}`, namespace: 'argocd' },
    spec: {
      project: 'default',
      source: { repoURL: gitUrl, targetRevision: 'main', path },
      // Another server, if this Argo CD does not run on the cluster itself.
      destination: { server: 'https://kubernetes.default.svc', namespace: 'ondemand' },
      syncPolicy: { automated: { selfHeal: true }, syncOptions: ['ServerSideApply=true'] },
    },
  };
  return stringify(application);
}

/** What an admin does with the repository. */
function readme(clusters: readonly string[], gitops: 'flux' | 'argo-cd'): string {
  const [first = 'prod'] = clusters;
  return `# Berth on our clusters

| directory          | what                                                                               |
| ------------------ | ---------------------------------------------------------------------------------- |
| \`berth\`            | Berth's components, written by \`berth render site\`                               |
| \`clusters/*/berth\` | the components of a cluster, written by \`berth render site\`                      |
| \`clusters/*\`       | yours: Secrets, and what differs on that cluster                                   |
| \`${gitops}\`${' '.repeat(17 - gitops.length)}| what makes ${gitops === 'flux' ? 'Flux' : 'Argo CD'} follow this repository: apply the file of a cluster there once${' '.repeat(gitops === 'flux' ? 4 : 1)} |

To see what a cluster gets: \`kubectl kustomize clusters/${first}\`

After an update of Berth, or a change of its configuration, run the same \`berth render site\` again and look at
\`git diff\`. Files that are yours stay as they are.

${gitops === 'flux' ? sopsText(first) : argoText}`;
}

const sopsText = (cluster: string): string => `## Secrets

No Secret is here in plain text. Put the public key of your age or GPG key into \`.sops.yaml\`, then:

1. Write the Secret to \`clusters/${cluster}/registry.sops.yaml\`.
2. \`sops encrypt --in-place clusters/${cluster}/registry.sops.yaml\`
3. Add \`registry.sops.yaml\` to \`resources\` in \`clusters/${cluster}/kustomization.yaml\`.

The token of the portal's hook does not belong here: \`berth token setup\` makes it, and \`berth token rotate\` renews it.
`;

const argoText = `## Secrets

Argo CD decrypts nothing by itself: put no Secret here, but one of its plugins or an operator for secrets. The token of the
portal's hook does not belong here: \`berth token setup\` makes it, and \`berth token rotate\` renews it.
`;
