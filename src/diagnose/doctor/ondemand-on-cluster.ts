import { probeNamespace } from '../../kube/admission/probe-namespace.ts';
import { type AdmissionSettings, siteAdmission } from '../../kube/admission/admission-settings.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { canI } from '../../kube/required-rights.ts';
import { type BoundedRun, runBounded } from '../../system/run-bounded.ts';
import { type Mapping, mappingOrEmpty } from '../../system/text/mapping.ts';
import { type Finding, ok, skipped, warning } from '../../system/errors/check-result.ts';
import { podRefusal, probePod } from './admission-check.ts';
import { minorVersion } from '../../kube/admission/policy-versions.ts';
import { programFault } from './program-fault.ts';

/** ood_core's default for `bin`. */
const defaultKubectl = '/usr/bin/kubectl';

/** What `kubectl version --client` has printed, by the path of kubectl. */
export type KubectlRuns = Map<string, Promise<Pick<BoundedRun, 'ended' | 'stdout'>>>;

/**
 * The kubectl that OnDemand runs as each user. Its version may differ from the API server's by one minor version
 * (Kubernetes' version skew policy). Root runs it only if nobody else can replace it.
 *
 * @param runs of other clusters, which may name the same program
 */
export async function kubectlFinding(
  { bin = defaultKubectl }: Mapping,
  server: string,
  timeoutMs: number,
  runs: KubectlRuns = new Map(),
): Promise<Finding> {
  const next = 'Install kubectl there, or correct v2.job.bin in the file of clusters.d.';
  if (typeof bin !== 'string' || !/^\/[\w@%+=:,./-]+$/.test(bin))
    return warning(
      `v2.job.bin is not the absolute path of a program: ${JSON.stringify(bin)}`,
      next,
    );
  const fault = await programFault(bin, next, warning);
  if (fault !== undefined) return fault;
  const running = runs.get(bin) ?? runKubectl(bin, timeoutMs / 2);
  runs.set(bin, running);
  const run = await running;
  const version = run.ended === 0 ? clientVersion(run.stdout) : '';
  const [ours, theirs] = [minorVersion(version), minorVersion(server)];
  if (ours === undefined)
    return warning(
      `${bin} version --client printed no version of kubectl (${run.ended === 'late' ? 'it did not end in time' : `it ended with ${run.ended}`})`,
      next,
    );
  if (theirs === undefined || Math.abs(ours - theirs) <= 1) return ok(`${bin} is ${version}`);
  return warning(
    `${bin} is ${version}, more than one minor version from the API server's ${server}`,
    `Install kubectl 1.${theirs}.`,
  );
}

function runKubectl(bin: string, timeoutMs: number): Promise<Pick<BoundedRun, 'ended' | 'stdout'>> {
  return runBounded(bin, ['version', '--client', '--output=json'], {
    env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent', KUBECONFIG: '/dev/null' },
    timeoutMs,
  }).catch((error: unknown) => ({ ended: String(error), stdout: '' }));
}

function clientVersion(text: string): string {
  try {
    const version = mappingOrEmpty(mappingOrEmpty(JSON.parse(text)).clientVersion).gitVersion;
    return typeof version === 'string' ? version : '';
  } catch {
    return '';
  }
}

/**
 * Whether the cluster accepts pods with the `mounts` of OnDemand: a server-side dry run in the probe namespace, which changes
 * nothing. The volumes are those of ood_core's pod.yml.erb.
 */
export async function mountsFinding(
  client: ApiClient,
  { mounts }: Mapping,
  settings: Pick<AdmissionSettings, 'prefix'> = siteAdmission(),
): Promise<Finding> {
  if (!Array.isArray(mounts) || mounts.length === 0) return skipped('v2.job.mounts is empty');
  const namespace = probeNamespace(settings);
  const right = { verb: 'create', group: '', resource: 'pods', namespace } as const;
  const untested = 'v2.job.mounts cannot be tested without the policies: see the check `admission`';
  if (!(await canI(client, right))) return skipped(untested);
  const refusal = (all: readonly Mapping[]): Promise<string | undefined> => {
    const volumeMounts = all.map(({ name, destination_path: path }) => ({ name, mountPath: path }));
    const pod = probePod({ volumes: all.flatMap(volume) }, { volumeMounts });
    return podRefusal(client, namespace, pod);
  };
  const refused = await refusal(mounts.map(mappingOrEmpty));
  if (refused === undefined)
    return ok('the cluster accepts pods with the volumes of v2.job.mounts');
  const anyway = await refusal([]);
  if (anyway === refused)
    return skipped(
      `v2.job.mounts cannot be tested: a pod without them is refused, too: ${refused}`,
    );
  return warning(
    `the cluster refuses OnDemand's pods because of v2.job.mounts: ${refused}`,
    'Correct mounts, or add the volumes to host_paths or nfs of admission.yml and apply `berth render policies` again.',
  );
}

function volume({ type, name, host, path, host_type: kind }: Mapping): Mapping[] {
  if (type === 'nfs') return [{ name, nfs: { server: host, path } }];
  return type === 'host' ? [{ name, hostPath: { path, type: kind } }] : [];
}
