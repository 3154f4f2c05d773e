import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite } from '../../rig/site/site.ts';

interface Role {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const page = new URL('../../../docs/admission.md', import.meta.url).pathname;

/** The resources in the first column of the page's table. */
async function decided(): Promise<ReadonlySet<string>> {
  const text = await readFile(page, 'utf8');
  const [, section = ''] = text.split('## Users with the ClusterRole `admin`');
  const rows =
    section
      .split('\n## ', 1)
      .join('')
      .match(/^\| `[^|]+/gm) ?? [];
  return new Set(
    rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')),
  );
}

describe('docs/admission.md', () => {
  it('says of everything that the ClusterRole admin lets users write what becomes of it', async () => {
    const cluster = new LiveCluster(await openSite());
    const role = JSON.parse(
      await cluster.kubectl(['get', 'clusterrole', 'admin', '-o', 'json']),
    ) as Role;
    const reads = new Set(['get', 'list', 'watch']);
    const written = role.rules
      .filter(
        ({ apiGroups, verbs }) =>
          !apiGroups.includes('extensions') && verbs.some((verb) => !reads.has(verb)),
      )
      .flatMap(({ resources }) => resources);

    const known = await decided();
    expect(written.length).toBeGreaterThan(20);
    expect(written.filter((one) => !known.has(one))).toEqual([]);
  });
});
