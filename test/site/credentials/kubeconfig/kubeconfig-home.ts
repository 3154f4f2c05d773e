import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  clusterEntry,
  execUser,
  type KubeconfigEntries,
} from '../../../../src/credentials/kubeconfig/kubeconfig-entries.ts';
import * as kubeconfigFile from '../../../../src/credentials/kubeconfig/update-kubeconfig.ts';
import type { User } from '../../../../src/system/identity/nss.ts';
import { lineLogger, type Logger } from '../../../../src/log.ts';
import { asRoot } from '../../../../src/system/as-user.ts';
import { deadlineIn, type Deadline } from '../../../../src/system/deadline.ts';

/** A home for one test. Its owner needs no account, because the kernel uses only the UID. */
export interface TestHome {
  readonly user: User;
  readonly config: string;
  /** Writes a file of the owner's into the home, by default the kubeconfig. */
  put(text: string, mode?: number, name?: string): Promise<string>;
  remove(): Promise<void>;
}

export async function testHome(uid = 64_501): Promise<TestHome> {
  const parent = await mkdtemp(join(tmpdir(), 'berth-home-'));
  await chmod(parent, 0o755);
  const home = join(parent, 'ann');
  await mkdir(home, { mode: 0o700 });
  await chown(home, uid, uid);
  const user = { name: 'ann', uid, gid: uid, groups: [uid], home, shell: '/bin/sh' };
  return {
    user,
    config: join(home, '.kube', 'config'),
    put: async (text, mode = 0o600, name = '.kube/config') => {
      const directory = join(home, '.kube');
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await chown(directory, uid, uid);
      const path = join(home, name);
      await writeFile(path, text);
      await chmod(path, mode);
      await chown(path, uid, uid);
      return path;
    },
    remove: () => rm(parent, { recursive: true }),
  };
}

export const wanted: readonly KubeconfigEntries[] = [
  {
    user: { name: 'oidc-ann', value: execUser('/usr/lib/berth/shell/kube-credential') },
    cluster: {
      name: 'ondemand',
      value: clusterEntry({ endpoint: 'https://k8s.example.org:6443', caFile: '/etc/pki/ca.pem' }),
    },
    context: {
      name: 'ondemand',
      value: { cluster: 'ondemand', namespace: 'user-ann', user: 'oidc-ann' },
    },
    currentContextIfUnset: 'ondemand',
  },
];

export interface TestOptions {
  readonly deadline: Deadline;
  readonly log: Logger;
  readonly lines: string[];
}

export function options(milliseconds = 5_000): TestOptions {
  const lines: string[] = [];
  return {
    deadline: deadlineIn(milliseconds),
    log: lineLogger((line) => lines.push(line)),
    lines,
  };
}

/** As the real one, then root again: the process keeps a section's user until the event loop's next turn. */
export const updateKubeconfig: typeof kubeconfigFile.updateKubeconfig = (...args) =>
  thenAsRoot(kubeconfigFile.updateKubeconfig(...args));

/** As `updateKubeconfig`. */
export const planKubeconfig: typeof kubeconfigFile.planKubeconfig = (...args) =>
  thenAsRoot(kubeconfigFile.planKubeconfig(...args));

async function thenAsRoot<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await asRoot(() => undefined);
  }
}
