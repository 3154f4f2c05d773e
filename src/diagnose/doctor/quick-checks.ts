import { type CheckResult } from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { asInstalled } from '../../config/load/config-path.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { SiteSettings } from '../../config/schema/settings.ts';
import { checkHost, checkRenderFiles, nodeFinding } from './host-checks.ts';
import { checkOndemandPortal } from './ondemand-keys.ts';
import { checkPortal } from './portal-checks.ts';
import { configWarning } from './run-checks.ts';
import { checkSessions } from './ssh-checks.ts';
import { listenersFinding } from './sshd-checks.ts';

/** The settings of this host, as far as it has them and they can be read. */
export interface QuickCheckInput {
  readonly site: SiteSettings | undefined;
  readonly ssh: SshSettings | undefined;
  /** For each check, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * The checks of doctor that read files of this host, and ask nobody but systemd, and whether the sshds of sessions run, which `berth init`
 * has doctor check before it starts them. Those of clusters, identity providers, sshd,
 * Podman, accounts and the contents of images take longer.
 */
export async function quickChecks(input: QuickCheckInput): Promise<readonly CheckResult[]> {
  const { site, ssh, timeoutMs } = input;
  const results = await Promise.all([
    runCheck('node', () => nodeFinding(process.versions.node), timeoutMs),
    ssh === undefined
      ? []
      : checkSessions(ssh, { clusters: undefined, timeoutMs, onlyQuick: true }),
    runCheck('sshd', listenersFinding, timeoutMs),
    checkRenderFiles(asInstalled, timeoutMs),
    ...(site === undefined
      ? []
      : [
          site.warnings.map(configWarning),
          checkHost(site, timeoutMs),
          checkPortal(site, timeoutMs),
          [...checkOndemandPortal(site.clustersDir, asInstalled).results],
        ]),
  ]);
  return results.flat();
}
