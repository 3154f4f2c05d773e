/** The versions of Kubernetes that the test site can run. Each has a go.mod, which pins the patch version. */
export const kubernetesMinors = ['1.33', '1.34', '1.35', '1.36'] as const;
export type KubernetesMinor = (typeof kubernetesMinors)[number];

/** The default version. */
export const newestMinor: KubernetesMinor = '1.36';

/**
 * The version that `BERTH_TEST_KUBERNETES` requests, or undefined if any running version may be used.
 *
 * @throws Error if it is not one of `kubernetesMinors`
 */
export function requestedMinor(
  wanted: string | undefined = process.env.BERTH_TEST_KUBERNETES,
): KubernetesMinor | undefined {
  if (wanted === undefined || wanted === '') return undefined;
  const found = kubernetesMinors.find((minor) => minor === wanted);
  if (found === undefined)
    throw new Error(
      `the tests do not support Kubernetes ${wanted}, but ${kubernetesMinors.join(', ')}`,
    );
  return found;
}

/** Whether the API server serves MutatingAdmissionPolicy, which it does by default since 1.36. */
export function hasMutatingPolicies(minor: KubernetesMinor): boolean {
  return minor === '1.36';
}
