import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { ensureCommand } from '../rig/site/debian-packages.ts';
import type { Portal, PortalTokens } from '../rig/site/portal.ts';
import type { Command } from './measure.ts';

const scripts = new URL('../../../shared/peers/osc-hooks/', import.meta.url).pathname;

/** Why OSC's scripts cannot be measured, or undefined if they can. */
export function whyOscIsMissing(): string | undefined {
  if (existsSync(scripts)) return undefined;
  return 'OSC’s hook scripts are missing (../shared/peers/osc-hooks)';
}

/** OSC's bash hooks, set up on the portal's cluster as their README says. */
export class OscHooks {
  readonly #home: string;
  readonly #hook: string;

  private constructor(home: string, hook: string) {
    this.#home = home;
    this.#hook = hook;
  }

  /**
   * Installs OSC's ServiceAccount, a kubeconfig with its token, `hook.env`, and a pre-PUN hook that runs both
   * scripts.
   */
  static async setUp(portal: Portal): Promise<OscHooks> {
    await ensureCommand('envsubst', 'gettext-base');
    await ensureCommand('sudo', 'sudo');
    await putKubectlFirst(portal.site.kubectlPath);
    const { site } = portal;
    await stdoutOf(site.kubectl(['apply', '-f', join(scripts, 'k8s-bootstrap/ondemand.yaml')]));
    const token = await stdoutOf(
      site.kubectl(['-n', 'ondemand', 'create', 'token', 'ondemand', '--duration=6h']),
    );
    const home = await mkdtemp(join(tmpdir(), 'osc-'));
    await mkdir(join(home, '.kube'), { mode: 0o700 });
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'c', cluster: { server: site.server, 'certificate-authority': site.ca.file } },
      ],
      users: [{ name: 'ondemand', user: { token: token.trim() } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'ondemand' } }],
      'current-context': 'c',
    };
    await writeFile(join(home, '.kube/config'), stringify(kubeconfig), { mode: 0o600 });
    const hookEnv = join(home, 'hook.env');
    await copyFile(portal.files.hookEnv, hookEnv);
    const hook = join(home, 'pre_hook');
    const call = (script: string): string =>
      `bash ${join(scripts, 'k8s-bootstrap', script)} "$1" ${hookEnv}\n`;
    await writeFile(
      hook,
      `#!/bin/bash\nset -e\n${call('k8s-bootstrap-ondemand.sh')}${call('set-k8s-creds.sh')}`,
      { mode: 0o755 },
    );
    return new OscHooks(home, hook);
  }

  command(portal: Portal, user: string, tokens: PortalTokens): Command {
    return {
      file: this.#hook,
      args: [user],
      env: { ...portal.environment(tokens), HOME: this.#home },
    };
  }
}

/**
 * Mounts kubectl at /usr/local/bin, which the scripts put first into PATH. The benchmark runs in its own mount
 * namespace.
 */
async function putKubectlFirst(kubectl: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bin-'));
  await copyFile(kubectl, join(directory, 'kubectl'));
  await execa('chmod', ['755', directory, join(directory, 'kubectl')]);
  await execa('mount', ['--bind', directory, '/usr/local/bin']);
}

async function stdoutOf(
  running: Promise<{ exitCode: number; stdout: string; stderr: string }>,
): Promise<string> {
  const { exitCode, stdout, stderr } = await running;
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}
