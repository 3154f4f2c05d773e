import type { ClusterSettings } from '../config/schema/settings.ts';

/** The command that creates a token for the hook; a cluster of Cluster API needs no admin kubeconfig. */
export function tokenSetupCommand(
  { name, admin }: Pick<ClusterSettings, 'name' | 'admin'>,
  from = 'ADMIN_KUBECONFIG',
): string {
  const command = `berth token setup --cluster ${name}`;
  return admin.kind === 'cluster-api' ? command : `${command} --from ${from}`;
}
