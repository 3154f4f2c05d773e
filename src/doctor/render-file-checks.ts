import { type CheckResult, type Finding, ok, runCheck } from '../check-result.ts';
import type { ResolveConfigPath } from '../config/load/config-overlay.ts';
import { fileIdentity } from '../system/config-files.ts';

/** Checks the files that only `berth render` reads, if this host has them: `admission.yml` and `balancer.yml`. */
export async function checkRenderFiles(
  at: ResolveConfigPath,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const checks = (['admission', 'balancer'] as const).map((name) => ({
    id: `${name}-config` as const,
    file: at(`/etc/berth/${name}.yml`),
    finding: findings[name],
  }));
  return Promise.all(
    checks
      .filter(({ file }) => fileIdentity(file) !== 'absent')
      .map(({ id, file, finding }) => runCheck({ id, run: () => finding(file) }, timeoutMs)),
  );
}

const findings: Readonly<Record<'admission' | 'balancer', (file: string) => Promise<Finding>>> = {
  admission: async (file) => {
    const { loadAdmissionParameters } = await import('../config/load/load-render-files.ts');
    loadAdmissionParameters(file, { required: true });
    return ok(`${file} is valid`);
  },
  balancer: async (file) => {
    const { loadBalancerSettings } = await import('../config/load/load-render-files.ts');
    const { kinds } = loadBalancerSettings(file);
    return ok(`${file} is valid; kinds: ${kinds.map(({ name }) => name).join(', ')}`);
  },
};
