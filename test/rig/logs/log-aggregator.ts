import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { run } from '../../../src/companions/verify/run-client.ts';
import { inNetwork } from '../login-node/host-namespaces.ts';
import { CertificateAuthority } from '../site/certificates.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { publicDirectory } from '../site/directories.ts';

const component = new URL('../../../etc/kubernetes/log-aggregator/', import.meta.url).pathname;

/** Who runs in the pod, and whose group the claim has (fsGroup). */
const account = '65532';

/** The log aggregator of etc/kubernetes/log-aggregator, with its files and commands as they are, in a network namespace. */
export class LogAggregator {
  readonly ca: CertificateAuthority;
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string, undefined>;

  private constructor(
    ca: CertificateAuthority,
    directory: string,
    process: ChildProcess,
    answers: Interface,
  ) {
    this.ca = ca;
    this.#directory = directory;
    this.#process = process;
    this.#answers = answers[Symbol.asyncIterator]() as AsyncIterator<string, undefined>;
  }

  /**
   * Starts it, with its rsyslog.
   *
   * @param network path of a network namespace, in whose loopback interface it listens
   * @param name the name in its certificate
   */
  static async start(network: string, name = 'logs.example.org'): Promise<LogAggregator> {
    await ensurePackages(['haproxy', 'rsyslog', 'rsyslog-relp', 'openssl', 'gzip']);
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, 'log-aggregator-'));
    await chmod(directory, 0o755);
    const ca = await CertificateAuthority.create(join(directory, 'ca'));
    await writeMounts(directory, ca, name);
    const output = await open(join(directory, 'output'), 'a');
    const script = new URL('aggregator.sh', import.meta.url).pathname;
    const argv = ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'bash', script];
    const [file = '', ...words] = inNetwork(network, [...argv, directory]);
    const child = spawn(file, words, { stdio: ['pipe', output.fd, output.fd, 'pipe'] });
    await output.close();
    const answers = createInterface({ input: child.stdio[3] as Readable });
    const aggregator = new LogAggregator(ca, directory, child, answers);
    await aggregator.#answer('up');
    await aggregator.startRsyslog();
    return aggregator;
  }

  /** Directory of the claim. */
  get hosts(): string {
    return join(this.#directory, 'hosts');
  }

  /** What `kubectl logs` would print of all containers. */
  output(): Promise<string> {
    return readFile(join(this.#directory, 'output'), 'utf8');
  }

  startRsyslog(): Promise<void> {
    return this.#command('start');
  }

  /** Ends rsyslog as the kubelet does. */
  stopRsyslog(): Promise<void> {
    return this.#command('stop');
  }

  /** Ends rsyslog with SIGKILL. */
  killRsyslog(): Promise<void> {
    return this.#command('kill');
  }

  /** What the container `rotate` does every ten minutes. */
  rotate(days: number): Promise<void> {
    return this.#command(`rotate ${days}`);
  }

  /** Path of today's file of a host. */
  file(host: string): string {
    return join(this.hosts, host, `${new Date().toISOString().slice(0, 10)}.log`);
  }

  /** The lines of today's file of a host. */
  async lines(host: string): Promise<string[]> {
    const text = await readFile(this.file(host), 'latin1').catch(() => '');
    return text.split('\n').filter(Boolean);
  }

  /** All files of the claim, as HOST/FILE. */
  async files(): Promise<string[]> {
    const found = await readdir(this.hosts, { recursive: true });
    return found.filter((name) => name.includes('/')).sort();
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const exited = once(this.#process, 'exit');
      this.#process.stdin?.end();
      await exited;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #command(command: string): Promise<void> {
    this.#process.stdin?.write(`${command}\n`);
    await this.#answer(command.split(' ')[0] ?? '');
  }

  async #answer(expected: string): Promise<void> {
    const { value, done } = await this.#answers.next();
    if (done === true || value !== expected)
      throw new Error(`the log aggregator did not do '${expected}': ${await this.output()}`);
  }
}

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: {
      readonly spec: {
        readonly containers: readonly { readonly name: string; readonly command: string[] }[];
      };
    };
  };
}

/** The documents of one of the component's files. */
async function manifests(file: string): Promise<Manifest[]> {
  const text = await readFile(join(component, file), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** What the pod mounts: the ConfigMap, the Secret and the claim. */
async function writeMounts(
  directory: string,
  ca: CertificateAuthority,
  name: string,
): Promise<void> {
  for (const mount of ['config', 'tls', 'hosts']) await mkdir(join(directory, mount));
  const config = (await manifests('config.yaml')).find(({ kind }) => kind === 'ConfigMap');
  for (const [file, text] of Object.entries(config?.data ?? {}))
    await writeFile(join(directory, 'config', file), text);
  const server = await ca.server(name);
  await run('cp', [server.cert, join(directory, 'tls/tls.crt')]);
  await run('cp', [server.key, join(directory, 'tls/tls.key')]);
  await run('cp', [ca.cert, join(directory, 'tls/ca.crt')]);
  await run('chown', ['-R', `root:${account}`, join(directory, 'tls'), join(directory, 'hosts')]);
  await run('chmod', ['-R', 'g+rX', join(directory, 'tls')]);
  await run('chmod', ['2775', join(directory, 'hosts')]);
  const [, pod] = await manifests('aggregator.yaml');
  const rsyslog = pod?.spec?.template?.spec.containers.find(
    ({ name: container }) => container === 'rsyslog',
  );
  await writeFile(join(directory, 'rsyslog-command'), rsyslog?.command.at(-1) ?? '');
}
