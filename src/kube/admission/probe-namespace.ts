import { annotations } from '../objects/well-known-names.ts';
import type { AdmissionSettings } from './admission-settings.ts';
import type { Manifest } from '../objects/kube-object.ts';

/** The owner of the probe namespace: nobody. */
export const probeIdentity = { owner: 'nobody', uid: 65534, gid: 65534 } as const;

/** Of the images in the probe namespace, only this one must be on the site's list: `berth doctor` does not know the others. */
export const unlistedImage = 'registry.invalid/berth-doctor-images';

const rbac = 'rbac.authorization.k8s.io';

/** Of etc/kubernetes/ssh-sessions. */
const loginAccount = 'ondemand:berth-login';

export function probeNamespace({ prefix }: Pick<AdmissionSettings, 'prefix'>): string {
  return `${prefix}admission-probe`;
}

/**
 * A namespace like a user's, for `berth doctor`: the hook and the account of login nodes may create pods and Services in it,
 * to check which of them the policies deny. A ResourceQuota keeps it empty, even if a token is stolen.
 */
export function probeManifests(settings: AdmissionSettings): Manifest[] {
  const { label, parameters } = settings;
  const name = probeNamespace(settings);
  const place = { name: 'berth-doctor', namespace: name };
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        labels: { [label.key]: label.value },
        annotations: {
          [annotations.owner]: probeIdentity.owner,
          [annotations.uid]: String(probeIdentity.uid),
          [annotations.gid]: String(probeIdentity.gid),
          [annotations.groups]: String(probeIdentity.gid),
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'nothing-runs-here', namespace: name },
      spec: { hard: { pods: '0', services: '0' } },
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: place,
      rules: [{ apiGroups: [''], resources: ['pods', 'services'], verbs: ['create'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: place,
      roleRef: { apiGroup: rbac, kind: 'Role', name: place.name },
      // `berth doctor` runs as the hook, or as the account of login nodes.
      subjects: [...parameters.stampers.slice(0, 1), loginAccount].map((account) => {
        const [namespace, accountName] = account.split(':');
        return { kind: 'ServiceAccount', name: accountName, namespace };
      }),
    },
  ];
}
