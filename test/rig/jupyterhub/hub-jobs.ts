import { installDirectory } from '../site/portal.ts';
import type { SshHost } from '../login-node/ssh-host.ts';

/** Where `berth render jupyterhub` has the scripts of jobs by default. */
export const jobsDirectory = '/etc/jupyterhub/berth-jobs';

/** Runs `berth render jupyterhub` on a host. @returns what it prints. @throws Error if it fails, or warns */
export async function renderHub(host: SshHost, args: readonly string[]): Promise<string> {
  return ok(host, [`${installDirectory}/berth`, 'render', 'jupyterhub', ...args]);
}

/** Writes the scripts of a hub's jobs on its host, and lets the hub's account submit them by sudo. */
export async function installHubJobs(host: SshHost, profiles: readonly string[]): Promise<void> {
  const account = ['--hub-account', 'test-hub'];
  await ok(host, ['mkdir', '-p', '/etc/jupyterhub']);
  await renderHub(host, ['--slurm', profiles.join(','), '--form', 'jobs', ...account]);
  const sudoers = `${jobsDirectory}/sudoers`;
  await ok(host, ['install', '-m', '0440', sudoers, '/etc/sudoers.d/berth-hub']);
  await ok(host, ['visudo', '--check', '--strict']);
}

async function ok(host: SshHost, argv: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await host.asRoot(argv);
  if (exitCode !== 0 || stderr !== '') throw new Error(`${argv.join(' ')}: ${stderr}`);
  return stdout.toString();
}
