import type { ClusterSettings } from '../config/settings.ts';

/** The command line that makes a new token for the hook; of Cluster API's clusters the way is known. */
export function setupCommand(
  { name, admin }: Pick<ClusterSettings, 'name' | 'admin'>,
  from = 'ADMIN_KUBECONFIG',
): string {
  const command = `berth token setup --cluster ${name}`;
  return admin.kind === 'cluster-api' ? command : `${command} --from ${from}`;
}
