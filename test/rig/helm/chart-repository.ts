import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { execa } from 'execa';

export interface ChartRepository {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A Helm repository on loopback with these charts.
 *
 * @param helm the program
 * @param directory for the packaged charts; made
 * @param charts directories of charts, with what they depend on
 */
export async function startChartRepository(
  helm: string,
  directory: string,
  charts: readonly string[],
): Promise<ChartRepository> {
  await execa(helm, ['package', ...charts, '--destination', directory]);
  await execa(helm, ['repo', 'index', directory]);
  const server = createServer((request, response) => {
    const file = join(directory, basename(request.url ?? ''));
    readFile(file).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
