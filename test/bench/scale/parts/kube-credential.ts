import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { installBerth, Portal } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { type TestUser, TestUsers } from '../../../rig/site/test-users.ts';
import { startTrustedProvider } from '../../../rig/site/trusted-provider.ts';
import { UserKubectl } from '../../../rig/site/user-kubectl.ts';
import { median } from '../../measure.ts';
import type { ScalePart } from '../parts.ts';

const counts = [10, 50, 200];

/**
 * Many kubectl of one user at once, as from a workflow that starts one for each of its jobs. The identity provider and the API server run
 * on the same two cores; they come first, as if they had their own.
 */
export const kubeCredential: ScalePart = {
  title: 'Many kubectl of one user at once, with a token that has just expired',
  async run(record) {
    const site = await openSite();
    await installBerth();
    const provider = await startTrustedProvider(site);
    const users = new TestUsers(new LiveCluster(site));
    const portal = await Portal.make(site, {
      hookEnv: { IDP_ISSUER_URL: provider.issuer, CLIENT_ID: 'kubernetes' },
    });
    try {
      await portal.writeBerth({ defaults: { credentials: credentialsOf(site) } });
      const user = await users.create('bench-crowd');
      const { exitCode, stderr } = await portal.prePun(user.name, await provider.login(user.name));
      if (exitCode !== 0) throw new Error(`the login failed: ${stderr}`);
      const crowd = new Crowd(site, user);
      await crowd.timePlugin();
      for (const count of counts) {
        const size = { count, of: 'kubectl' };
        const fresh = await crowd.run(count);
        await crowd.kubectl.expireToken();
        const before = provider.tokenRequests;
        const expired = await crowd.run(count);
        const renewals = provider.tokenRequests - before;
        record({ what: 'renewals', size, value: renewals, unit: '', wanted: { atMost: 1 } });
        record({
          what: 'failed kubectl',
          size,
          value: expired.failed,
          unit: '',
          wanted: { atMost: 0 },
        });
        record({
          what: 'the slowest kubectl, token valid',
          size,
          value: fresh.slowest,
          unit: 'ms',
        });
        record({
          what: 'the slowest kubectl, token expired',
          size,
          value: expired.slowest,
          unit: 'ms',
        });
        record({
          what: 'the slowest kube-credential',
          size,
          value: expired.plugin.slowest,
          unit: 'ms',
        });
        record({
          what: 'the largest kube-credential, which asks',
          size,
          value: expired.plugin.largest,
          unit: 'MiB',
        });
        record({
          what: 'kube-credential, the median, which waits',
          size,
          value: expired.plugin.median,
          unit: 'MiB',
        });
      }
    } finally {
      await provider.stopListening();
      await users.removeNamespaces();
      await portal.remove();
    }
  },
};

const credentialsOf = (site: Site): object => ({
  ...{ ca_file: site.ca.file, audience: 'kubernetes', exchange: false, token: 'id' },
});

interface Round {
  /** Of all kubectl, from its start to its end. Milliseconds. */
  readonly slowest: number;
  readonly failed: number;
  /** Of all kube-credential: milliseconds, and the largest resident set of each in MiB. */
  readonly plugin: { readonly slowest: number; readonly largest: number; readonly median: number };
}

/** Starts kubectl of one user many times. */
class Crowd {
  readonly kubectl: UserKubectl;
  /** What GNU time says of each kube-credential: seconds and KiB. */
  readonly #times: string;

  constructor(site: Site, user: TestUser) {
    this.kubectl = new UserKubectl(site, user);
    this.#times = join(user.home, 'times');
  }

  /** Puts GNU time before the plugin in the user's kubeconfig. */
  async timePlugin(): Promise<void> {
    const file = this.kubectl.kubeconfigFile;
    const text = await readFile(file, 'utf8');
    const [line, indent = '', program = ''] =
      /^( *)command: (.*kube-credential.*)$/m.exec(text) ?? [];
    if (line === undefined) throw new Error(`${file} does not name the plugin:\n${text}`);
    const words = ['-a', '-o', this.#times, '-f', '%e %M', program];
    const args = words.map((word) => `${indent}  - ${JSON.stringify(word)}`).join('\n');
    await writeFile(
      file,
      text.replace(line, `${indent}command: /usr/bin/time\n${indent}args:\n${args}`),
    );
  }

  async run(count: number): Promise<Round> {
    await rm(this.#times, { force: true });
    const samples = await Promise.all(
      Array.from({ length: count }, async () => {
        const started = performance.now();
        const { exitCode, stderr } = await this.kubectl.runUnder(['nice'], 'auth', 'whoami');
        if (exitCode !== 0) process.stderr.write(`${stderr}\n`);
        return { wall: performance.now() - started, failed: exitCode !== 0 };
      }),
    );
    const text = await readFile(this.#times, 'utf8');
    // After a failure, GNU time writes another line first.
    const lines = text.split('\n').filter((line) => /^[\d. ]+$/.test(line));
    const plugins = lines.map((line) => line.split(' ').map(Number));
    const sizes = plugins.map(([, kib = 0]) => kib / 1024);
    return {
      slowest: Math.max(...samples.map(({ wall }) => wall)),
      failed: samples.filter(({ failed }) => failed).length,
      plugin: {
        slowest: Math.max(...plugins.map(([seconds = 0]) => seconds * 1000)),
        largest: Math.max(...sizes),
        median: median(sizes),
      },
    };
  }
}
