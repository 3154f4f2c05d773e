import type { ClusterOptions } from './berth-yml.ts';
import type { ClusterSettings } from './settings.ts';

/** What berth.yml adds to the users' namespaces of a cluster. An absent key adds nothing. */
export function namespaceSettings({
  jupyterhub,
  user_roles: userRoles,
}: ClusterOptions): Pick<ClusterSettings, 'jupyterhub' | 'userRoles'> {
  const hub = jupyterhub && {
    namespace: jupyterhub.namespace,
    serviceAccount: jupyterhub.service_account,
  };
  return {
    ...(hub === undefined ? {} : { jupyterhub: hub }),
    ...(userRoles === undefined ? {} : { userRoles: [...new Set(userRoles)] }),
  };
}
