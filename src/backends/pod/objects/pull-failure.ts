/** Why an image cannot be pulled. */
export type PullFailure = 'never' | 'name' | 'unreachable' | 'denied' | 'missing';

/** Messages of kubelet, containerd and CRI-O for a failed pull; the first match counts. */
const patterns: readonly (readonly [PullFailure, RegExp])[] = [
  ['never', /ErrImageNeverPull/],
  ['name', /InvalidImageName/],
  [
    'unreachable',
    /connection refused|i\/o timeout|no such host|no route to host|network is unreachable|TLS handshake timeout|connection reset|: EOF|50[0234] /i,
  ],
  ['denied', /unauthorized|authorization failed|access denied|forbidden|no basic auth/i],
  ['missing', /not found|manifest unknown|does not exist/i],
];

/**
 * Classifies a failed pull.
 *
 * @param said the kubelet's message, with or without its reason before it
 * @returns undefined for any other message, such as a registry's rate limit
 */
export function pullFailure(said: string): PullFailure | undefined {
  return patterns.find(([, pattern]) => pattern.test(said))?.[0];
}

/**
 * Whether the kubelet's next attempt would fail too. It takes place 10 to 30 seconds after the first one (pkg/kubelet:
 * `backOffPeriod` and the image manager's back-off), which is too long to wait for a certain failure.
 */
export function isPermanentPullFailure(said: string): boolean {
  const failure = pullFailure(said);
  return failure === 'denied' || failure === 'missing';
}
