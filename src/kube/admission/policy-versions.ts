/** ValidatingAdmissionPolicy is GA in Kubernetes 1.30. */
export const validatingPolicySince = 30;
/** MutatingAdmissionPolicy is GA in Kubernetes 1.36, and off by default before. */
export const mutatingPolicySince = 36;

/** `v1.36.3` as 36, and `1.36`; nothing for another major version. */
export function minorVersion(version: string): number | undefined {
  const minor = /^v?1\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
