import { readFile } from 'node:fs/promises';

/** The kernel's default. */
const usual = 1024;

/** The lowest port of this network namespace on which users other than root may listen. */
export async function firstUnprivilegedPort(): Promise<number> {
  // Kernels before 4.11 do not have it.
  const text = await readFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').catch(() =>
    String(usual),
  );
  return Number(text.trim());
}
