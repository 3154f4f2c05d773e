import { createServer, type AddressInfo } from 'node:net';

/**
 * Finds a free loopback port for each name. All ports are bound until the last one is found, so that they
 * differ.
 */
export async function freePorts<const Names extends readonly string[]>(
  names: Names,
): Promise<Record<Names[number], number>> {
  const held = await Promise.all(names.map((name) => hold(name)));
  const ports = held.map(({ name, server }) => [name, (server.address() as AddressInfo).port]);
  await Promise.all(
    held.map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve()))),
  );
  return Object.fromEntries(ports) as Record<Names[number], number>;
}

function hold(name: string): Promise<{ name: string; server: ReturnType<typeof createServer> }> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve({ name, server }));
  });
}
