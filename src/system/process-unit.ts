import { readFileSync } from 'node:fs';

/**
 * The systemd service that a process belongs to, from its cgroup, which only root can change.
 *
 * @returns undefined without systemd, for a process of a login session, or for one that has ended
 */
export function systemdUnitOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    // `0::/PATH` with the unified hierarchy; `1:name=systemd:/PATH` without.
    return /^(?:0:|[0-9]+:name=systemd):\/.*?([^/\n]+\.service)$/m.exec(text)?.[1];
  } catch {
    return undefined;
  }
}
