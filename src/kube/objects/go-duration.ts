const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * `1h30m0s` in milliseconds, as Go's time.ParseDuration reads it, which job-pod-reaper uses for
 * `pod.kubernetes.io/lifetime`. Undefined if it is not a duration, or negative.
 */
export function goDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  const parts = [...text.matchAll(/([0-9]*(?:\.[0-9]*)?)(ns|us|µs|μs|ms|s|m|h)/gy)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) return undefined;
  let total = 0;
  for (const [, number = '', unit = ''] of parts) {
    if (!/[0-9]/.test(number)) return undefined;
    total += Number(number) * (units[unit] ?? 0);
  }
  // The limit of Go's durations, 292 years.
  return total <= 9_223_372_036_854 ? total : undefined;
}
