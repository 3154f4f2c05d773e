import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { CheckResult } from '../../../../src/system/errors/check-result.ts';
import { berthDocument } from '../../../rig/berth-document.ts';
import { installBerth, installDirectory, Portal } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { medians, measure, type Sample } from '../../measure.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';
import { requestsOf } from '../requests-of.ts';
import { scaled } from '../scaled.ts';

const runs = 3;

/**
 * `berth doctor` on a portal with many clusters. Simulated: they are one API server and one identity provider under many
 * names, which so have the work of all of them, on the machine of doctor. Those that do not answer accept the connection and
 * say nothing, which takes longest.
 */
export const doctor: ScalePart = {
  title: '`berth doctor` on a portal with many clusters',
  async run(record) {
    const site = await openSite();
    await installBerth();
    const silent = await silentServer();
    try {
      for (const count of scaled(1, 10, 50)) await ofSize(site, count, undefined, record);
      for (const count of scaled(10, 50)) await ofSize(site, count, silent.url, record);
    } finally {
      await silent.close();
    }
  },
};

async function ofSize(
  site: Site,
  count: number,
  silent: string | undefined,
  record: RecordFigure,
): Promise<void> {
  const portal = await portalWith(site, count, silent);
  const size = { count, of: 'clusters' };
  const which = silent === undefined ? 'all answer' : 'every second one is silent';
  try {
    const args = ['doctor', '--config', portal.files.berth];
    const env = portal.environment();
    const command = { file: join(installDirectory, 'berth'), args, env, statuses: [0, 1] };
    const samples: Sample[] = [];
    for (let run = 0; run < runs; run += 1) samples.push(await measure(command));
    const { wall, rss, cpu } = medians(samples);
    const seconds = { value: wall / 1000, unit: 's', wanted: { atMost: 10 } };
    record({ what: `${which}: time`, size, ...seconds });
    record({ what: `${which}: processor time`, size, value: cpu / 1000, unit: 's' });
    const memory = { value: rss / 1024, unit: 'MiB', wanted: { atMost: 300 } };
    record({ what: `${which}: memory of the largest process`, size, ...memory });

    const mark = await site.audit.mark();
    const { stdout, stderr } = await portal.berth('doctor', '-o', 'json');
    if (stdout === '') throw new Error(stderr);
    const { checks } = berthDocument(stdout) as { readonly checks: readonly CheckResult[] };
    const requests = requestsOf(await site.audit.since(mark), 'berth-hook');
    const sent = [...requests.values()].reduce((sum, one) => sum + one, 0);
    const asked = silent === undefined ? count : Math.ceil(count / 2);
    record({ what: `${which}: requests to each`, size, value: sent / asked, unit: 'requests' });
    // Of those that answer, no check may give up because all are asked at once.
    const late = checks.filter(
      ({ status, cluster = '' }) => status === 'failed' && !cluster.startsWith('silent'),
    );
    const none = { value: late.length, unit: 'checks', wanted: { atMost: 0 } };
    record({ what: `${which}: failed checks of those that answer`, size, ...none });
  } finally {
    await portal.remove();
  }
}

/** A portal whose root has one context for each cluster. */
async function portalWith(site: Site, count: number, silent: string | undefined): Promise<Portal> {
  const all = Array.from({ length: count }, (_, index) => {
    const isSilent = silent !== undefined && index % 2 === 1;
    const name = `${isSilent ? 'silent' : 'cluster'}${index}`;
    return { name, endpoint: isSilent ? silent : site.server };
  });
  const portal = await Portal.make(site, {
    clusters: Object.fromEntries(
      all.map(({ name, endpoint }) => [
        name,
        { server: { endpoint, cert_authority_file: site.ca.file } },
      ]),
    ),
    berth: {
      clusters: Object.fromEntries(all.map(({ name }) => [name, { admin: { context: name } }])),
    },
  });
  const one = parse(await readFile(portal.files.kubeconfig, 'utf8')) as {
    readonly users: readonly [{ readonly user: object }];
  };
  await writeFile(
    portal.files.kubeconfig,
    stringify({
      ...{ apiVersion: 'v1', kind: 'Config' },
      clusters: all.map(({ name, endpoint }) => ({
        name,
        cluster: { server: endpoint, 'certificate-authority': site.ca.file },
      })),
      users: all.map(({ name }) => ({ name, user: one.users[0].user })),
      contexts: all.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    }),
  );
  // With it, the checks of OnDemand's keys run, too.
  const hook = join(installDirectory, 'hooks/pre-pun');
  await writeFile(
    join(portal.directory, 'ood_portal.yml'),
    stringify({ pun_pre_hook_root_cmd: hook, servername: 'ondemand.example.org' }),
  );
  return portal;
}

/** A server that accepts connections and never answers. */
async function silentServer(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined).on('close', () => open.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
