import type { ClusterOptions } from './berth-yml.ts';
import type { ClusterSettings } from './settings.ts';

/** What berth.yml adds to the users' namespaces of a cluster. An absent key adds nothing. */
export function namespaceSettings({
  jupyterhub,
  network_egress: egress,
  user_roles: userRoles,
  user_role_resources: userRoleResources,
  volume_claims: claims = [],
}: ClusterOptions): Pick<
  ClusterSettings,
  'jupyterhub' | 'networkEgress' | 'userRoles' | 'userRoleResources' | 'volumeClaims'
> {
  const hub = jupyterhub && {
    namespace: jupyterhub.namespace,
    serviceAccount: jupyterhub.service_account,
    ...(jupyterhub.groups && { groups: jupyterhub.groups }),
  };
  return {
    ...(hub !== undefined && { jupyterhub: hub }),
    ...(egress && { networkEgress: { networks: egress.networks ?? [] } }),
    ...(claims.length > 0 && {
      volumeClaims: claims.map(
        ({ name, size, storage_class: storageClass, access_modes: modes }) => ({
          name,
          size: String(size),
          storageClass,
          accessModes: modes ?? ['ReadWriteOnce'],
        }),
      ),
    }),
    ...(userRoles && { userRoles: [...new Set(userRoles)] }),
    userRoleResources,
  };
}
