import { readdir, readFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { repetitions } from '../../../rig/soak.ts';
import { ours, randomKubeconfig } from '../../../unit/credentials/kubeconfig/random-kubeconfig.ts';
import {
  planKubeconfig,
  updateKubeconfig,
  options,
  testHome,
  wanted,
  type TestHome,
} from './kubeconfig-home.ts';

const writer = new URL('kubeconfig-writer.ts', import.meta.url).pathname;

describe.runIf(process.getuid?.() === 0)(
  'a kubeconfig of ours, in the hands of kubectl (as root)',
  () => {
    let site: Site;
    let home: TestHome;
    beforeAll(async () => {
      site = await openSite();
    });
    beforeEach(async () => {
      home = await testHome();
    });
    afterEach(() => home.remove());

    /** Runs kubectl as the user. */
    const kubectl = async (
      ...args: string[]
    ): Promise<{ readonly exitCode: number; readonly stdout: string }> => {
      const result = await execa(
        site.kubectlPath,
        [`--kubeconfig=${home.config}`, 'config', ...args],
        {
          uid: home.user.uid,
          gid: home.user.gid,
          cwd: '/',
          env: { HOME: home.user.home },
          extendEnv: false,
          reject: false,
        },
      );
      // A kubectl that could not be started is no result.
      if (result.exitCode === undefined) throw new Error(result.shortMessage, { cause: result });
      return { exitCode: result.exitCode, stdout: result.stdout };
    };
    const view = async (): Promise<View> => {
      const { stdout } = await kubectl('view', '--raw', '-o', 'json');
      return JSON.parse(stdout) as View;
    };

    it('is read by kubectl as intended', async () => {
      await updateKubeconfig(home.user, wanted, options());
      expect(await view()).toMatchObject({
        'current-context': 'ondemand',
        clusters: [{ name: 'ondemand', cluster: wanted[0]?.cluster?.value }],
        contexts: [{ name: 'ondemand', context: wanted[0]?.context?.value }],
        users: [{ name: 'oidc-ann', user: wanted[0]?.user?.value }],
      });
    });

    it('contains what OnDemand’s dashboard would write', async () => {
      const old = `clusters:\n- name: ondemand\n  cluster: {server: "https://old", tls-server-name: x, insecure-skip-tls-verify: true, proxy-url: "http://p"}\n`;
      await home.put(old);
      await kubectl(
        ...['set-cluster', 'ondemand', '--server=https://k8s.example.org:6443'],
        '--certificate-authority=/etc/pki/ca.pem',
      );
      await kubectl(
        ...['set-context', 'ondemand', '--cluster=ondemand', '--namespace=user-ann'],
        '--user=oidc-ann',
      );
      const dashboards = await view();
      await home.put(old);
      await updateKubeconfig(home.user, wanted, options());
      const { clusters, contexts } = await view();
      expect({ clusters, contexts }).toEqual({
        clusters: dashboards.clusters,
        contexts: dashboards.contexts,
      });
    });

    it('needs no correction after kubectl has rewritten it', async () => {
      await updateKubeconfig(home.user, wanted, options());
      await kubectl('set-context', 'mine', '--cluster=ondemand', '--user=oidc-ann');
      expect(await readFile(home.config, 'utf8')).toContain('args: null');
      expect(await planKubeconfig(home.user, wanted)).toMatchObject({ changed: false });
    });

    it('shows kubectl all other entries unchanged, in files of all styles', async () => {
      let compared = 0;
      for (let seed = 5_000; seed < 5_000 + repetitions(12, 60); seed++) {
        const { text } = randomKubeconfig(seed);
        await home.put(text);
        const before = await kubectl('view', '--raw', '-o', 'json');
        await updateKubeconfig(home.user, wanted, options());
        const after = await kubectl('view', '--raw', '-o', 'json');
        expect(after.exitCode, `seed ${seed}\n${text}`).toBe(before.exitCode);
        if (before.exitCode !== 0) continue;
        expect(withoutOurs(JSON.parse(after.stdout) as View), `seed ${seed}\n${text}`).toEqual(
          withoutOurs(JSON.parse(before.stdout) as View),
        );
        compared += 1;
      }
      expect(compared).toBeGreaterThan(repetitions(12, 60) / 2);
    });

    /**
     * kubectl reads the file before it takes its lock, and so removes entries that were added in between:
     * several kubectl lose entries of each other, too, and write them again. The test checks that no write of
     * the hook removes an entry, and that in the end all entries exist.
     */
    it(
      'is written by 20 kubectl and 20 of ours at once, and nobody loses an entry to us',
      { timeout: 300_000 },
      async () => {
        const theirs = Array.from({ length: 20 }, (_, index) => `kubectl-${index}`);
        const berths = Array.from({ length: 20 }, (_, index) => `berth-${index}`);
        await home.put('# mine\nkind: Config\n');
        let missing = [...theirs, ...berths];
        for (let round = 0; missing.length > 0; round++) {
          expect(round, missing.join()).toBeLessThan(10);
          const codes = await Promise.all(
            missing.map((name) =>
              name.startsWith('berth') ? berthWrites(name) : kubectlWrites(name),
            ),
          );
          expect(codes).toEqual(codes.map(() => 0));
          const text = await readFile(home.config, 'utf8');
          const there = (parse(text) as View).clusters?.map(({ name }) => name) ?? [];
          missing = [...theirs, ...berths].filter((name) => !there.includes(name));
        }
        expect(await readdir(join(home.config, '..'))).toEqual(['config']);
      },
    );

    /** 0, or 3 if it removed an entry: see the writer. */
    const berthWrites = async (name: string): Promise<number | null> => {
      const { home: directory, uid } = home.user;
      const child = spawn(process.execPath, [writer, directory, String(uid), '3', name], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    };

    /** kubectl does not wait for the lock, so this retries. */
    const kubectlWrites = async (name: string): Promise<number> => {
      for (let attempt = 0; attempt < 500; attempt++) {
        const { exitCode } = await kubectl('set-cluster', name, '--server=https://k8s.example.org');
        if (exitCode === 0) return 0;
        await sleep(10 + (attempt % 5) * 10);
      }
      return 1;
    };
  },
);

interface Item {
  readonly name: string;
  readonly [key: string]: unknown;
}
type View = Partial<Record<'clusters' | 'contexts' | 'users', Item[] | null>> &
  Record<string, unknown>;

function withoutOurs({ clusters, contexts, users, ...rest }: View): unknown {
  const others = (items: Item[] | null | undefined, name: string): Item[] =>
    (items ?? []).filter((item) => item.name !== name);
  const current = rest['current-context'];
  return {
    ...rest,
    'current-context': current === ours.context ? '' : current,
    clusters: others(clusters, ours.cluster),
    contexts: others(contexts, ours.context),
    users: others(users, ours.user),
  };
}
