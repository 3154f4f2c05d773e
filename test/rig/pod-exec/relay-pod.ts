import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import type { Heartbeat } from '../../../src/sessions/exec/exec-stream.ts';
import type { ApiServer } from '../../../src/kube/api-server.ts';
import { CompiledRelay } from './compiled-relay.ts';
import { LiveCluster } from '../site/live-cluster.ts';
import { ensureNode } from '../site/kubernetes-node/node.ts';
import type { Site } from '../site/site.ts';
import { waitFor } from '../wait-for.ts';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';

export interface RelayOptions extends ClientOptions {
  readonly tty?: boolean;
  readonly pod?: string;
  /** Default: the namespace of this object. */
  readonly namespace?: string;
  readonly container?: string;
  readonly server?: Partial<ApiServer>;
  readonly heartbeat?: Heartbeat;
  readonly timeoutMs?: number;
}

/** A namespace with a sleeping pod, and a relay program that runs commands in it. */
export class RelayPod {
  readonly namespace: string;
  readonly pod = 'box';
  readonly cluster: LiveCluster;
  readonly #image: string;
  /** The API server and the token of a ServiceAccount that can only exec. */
  readonly server: ApiServer;

  readonly #program: CompiledRelay;

  private constructor(
    site: Site,
    program: CompiledRelay,
    { namespace, image, token }: { namespace: string; image: string; token: string },
  ) {
    this.#program = program;
    this.cluster = new LiveCluster(site);
    this.namespace = namespace;
    this.#image = image;
    this.server = { url: site.server, ca: site.ca.pem, token };
  }

  static async make(site: Site): Promise<RelayPod> {
    const image = await (await ensureNode(site)).image('busybox');
    const namespace = `relay-${randomUUID().slice(0, 8)}`;
    const cluster = new LiveCluster(site);
    await cluster.kubectl(['create', 'namespace', namespace]);
    await cluster.kubectl(['-n', namespace, 'create', 'serviceaccount', 'session']);
    await cluster.create(
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'session', namespace },
        rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create', 'get'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'session', namespace },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'session' },
        subjects: [{ kind: 'ServiceAccount', name: 'session', namespace }],
      },
    );
    const token = (await cluster.kubectl(['-n', namespace, 'create', 'token', 'session'])).trim();
    const pod = new RelayPod(site, await CompiledRelay.make(), { namespace, image, token });
    await pod.startPod(pod.pod);
    // RBAC in a new namespace takes a moment to become active.
    await waitFor({ what: 'the right to exec', timeoutMs: 60_000 }, async () => {
      const { exitCode, stderr } = await pod.run(['true']);
      if (exitCode !== 0) throw new Error(stderr);
      return true;
    });
    return pod;
  }

  /** Creates a pod and waits until it is Ready. */
  async startPod(name: string): Promise<void> {
    const { namespace } = this;
    await this.cluster.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace },
      spec: {
        terminationGracePeriodSeconds: 0,
        restartPolicy: 'Never',
        containers: [{ name: 'main', image: this.#image, command: ['sleep', '3600'] }],
      },
    });
    await this.cluster.kubectl([
      ...['-n', namespace, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s'],
    ]);
  }

  async remove(): Promise<void> {
    await this.#program.remove();
    await this.cluster.deleteNamespaces([this.namespace]);
  }

  /** The command line of a relay that runs `argv` in the pod. */
  relayArgv(argv: readonly string[], options: RelayOptions = {}): string[] {
    const { tty = false, pod = this.pod, namespace = this.namespace, container } = options;
    const { server, heartbeat, timeoutMs } = options;
    const session = {
      server: { ...this.server, ...server },
      target: { namespace, pod, argv, tty, container },
      heartbeat,
      timeoutMs,
    };
    return [...this.#program.argv, JSON.stringify(session)];
  }

  /** Runs a command in the pod and waits for its end. */
  run(argv: readonly string[], options: RelayOptions = {}): Promise<ClientResult> {
    const [file = '', ...args] = this.relayArgv(argv, options);
    return run(file, args, options);
  }

  /** Starts a relay and does not wait for its end. */
  spawn(argv: readonly string[], options: RelayOptions = {}): RunningRelay {
    const [file = '', ...args] = this.relayArgv(argv, options);
    return new RunningRelay(spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] }));
  }

  /** PIDs of all running relays of this object, also of those that script(1) started. */
  async relayPids(): Promise<number[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(
      pids.map(async (pid) => {
        const cmdline = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split(
          '\0',
        );
        return cmdline[0] === process.execPath && cmdline.includes(this.#program.file);
      }),
    );
    return pids.filter((_, index) => found[index]).map(Number);
  }
}

export class RunningRelay {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly ended: Promise<number | NodeJS.Signals>;
  stdout = '';
  stderr = '';

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.child = child;
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (bytes: Buffer) => (this.stderr += bytes.toString()));
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? signal ?? 0));
    });
  }

  /** Starts to read its stdout; until then the pipe fills. */
  collectOutput(): this {
    this.child.stdout.on('data', (bytes: Buffer) => (this.stdout += bytes.toString('latin1')));
    return this;
  }

  /** Waits until its stdout contains the text. */
  async waitForOutput(text: string): Promise<void> {
    this.collectOutput();
    await waitFor({ what: `the relay to print ${text}`, timeoutMs: 60_000, everyMs: 20 }, () =>
      Promise.resolve(this.stdout.includes(text) ? true : undefined),
    );
  }
}
