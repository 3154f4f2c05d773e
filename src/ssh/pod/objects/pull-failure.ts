/** Why an image cannot be pulled. */
export type PullFailure = 'never' | 'name' | 'unreachable' | 'denied' | 'missing';

/** What the kubelet, containerd and CRI-O say of a pull that failed; the first that fits counts. */
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
 * @param said the kubelet's message, with or without its reason before it
 * @returns Nothing where the message is of another kind, such as a registry's limit of pulls.
 */
export function pullFailure(said: string): PullFailure | undefined {
  return patterns.find(([, pattern]) => pattern.test(said))?.[0];
}

/**
 * Whether the kubelet's next try would fail as well. It comes 10 to 30 seconds after the first
 * (pkg/kubelet: `backOffPeriod` and the image manager's back-off), which no user waits for in vain.
 */
export function failsAgain(said: string): boolean {
  const failure = pullFailure(said);
  return failure === 'denied' || failure === 'missing';
}
