/** What the test site can be: a go.mod for each, the newest patch that the module proxy has. */
export const kubernetesMinors = ['1.33', '1.34', '1.35', '1.36'] as const;
export type KubernetesMinor = (typeof kubernetesMinors)[number];

/** What is tested with where nobody asks for another. */
export const newestMinor: KubernetesMinor = '1.36';

/**
 * The version that `BERTH_TEST_KUBERNETES` asks for; nothing where whatever runs is good.
 *
 * @throws Error where it is none of them
 */
export function wantedMinor(
  wanted: string | undefined = process.env.BERTH_TEST_KUBERNETES,
): KubernetesMinor | undefined {
  if (wanted === undefined || wanted === '') return undefined;
  const found = kubernetesMinors.find((minor) => minor === wanted);
  if (found === undefined)
    throw new Error(
      `there is no Kubernetes ${wanted} to test with, but ${kubernetesMinors.join(', ')}`,
    );
  return found;
}

/** Whether the API server fills in: MutatingAdmissionPolicy is served by default since 1.36. */
export function fillsIn(minor: KubernetesMinor): boolean {
  return minor === '1.36';
}
