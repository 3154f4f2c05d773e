import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../log.ts';
import type { BridgeSink } from '../session/bridge/connections.ts';
import { cookieFields, cookieOf } from '../session/bridge/xauthority.ts';
import { leadOrFollow, type Lead } from './bridge-lead.ts';
import { openBridge, type BridgeLink } from './bridge-link.ts';
import { BridgePorts } from './bridge-ports.ts';
import type { PodPlace } from './open-exec.ts';
import { BridgedSockets } from './bridge-sockets.ts';

export interface BridgeInput extends PodPlace {
  readonly uid: number;
  /** The user's alone, for what the sessions of one pod say to each other. */
  readonly folder: string;
  readonly log: Logger;
  /** Path of sshd's agent. */
  readonly agent?: string;
  /** Of sshd's display: its number, and where it listens. */
  readonly x11?: { readonly display: number; readonly host: string; readonly authority: string };
}

/** Until sockets of the session are there; one that takes longer begins without. Milliseconds. */
const readyMs = 10_000;

/** What is on its way at the end may take, at each step, in milliseconds. */
const lastMs = 1000;

/**
 * The session's sockets of sshd, in the pod. sshd opens them on the login node, as its own; a helper in
 * the pod has others, and what comes to either goes to the other one.
 */
export class Bridge {
  readonly #input: BridgeInput;
  readonly #sockets = new BridgedSockets();
  readonly #ending = new AbortController();
  #link: Promise<BridgeLink> | undefined;
  #ports: BridgePorts | undefined;
  #leading: Promise<unknown> = Promise.resolve();
  #ready: ((word: Readonly<Record<string, unknown>>) => void) | undefined;
  #flushed: (() => void) | undefined;

  constructor(input: BridgeInput) {
    this.#input = input;
  }

  /**
   * Agent and display of this session.
   *
   * @returns What the environment inside says of them; nothing of what can not be had.
   * @throws {BerthError} as `openExec`
   */
  async own(): Promise<Readonly<Record<string, string>>> {
    const { agent, x11, log } = this.#input;
    const cookie = x11 === undefined ? undefined : await this.#cookie(x11);
    if (agent === undefined && cookie === undefined) return {};
    const { connections, ended } = await this.#opened();
    const folder = `/tmp/berth-${randomBytes(12).toString('hex')}`;
    const ready = new Promise<Readonly<Record<string, unknown>>>((resolve) => {
      this.#ready = resolve;
    });
    connections.say({
      begin: {
        folder,
        agent: agent !== undefined,
        ...(cookie === undefined ? {} : { x11: { display: x11?.display, cookie } }),
      },
    });
    const late = new Promise<string>((resolve) => {
      setTimeout(() => resolve('the helper does not answer'), readyMs).unref();
    });
    const word = await Promise.race([ready, ended, late]);
    if (typeof word === 'string' || 'why' in word) {
      const why = typeof word === 'string' ? word : String(word.why);
      log.warning('agent and display stay on the login node', { why });
      return {};
    }
    const display = typeof word.display === 'number' ? word.display : undefined;
    return {
      ...(agent === undefined ? {} : { SSH_AUTH_SOCK: `${folder}/agent` }),
      ...(display === undefined
        ? {}
        : { DISPLAY: `localhost:${display}.0`, XAUTHORITY: `${folder}/Xauthority` }),
    };
  }

  /**
   * Ports, from now to the end, by this session or another one. Resolves when they are there.
   *
   * @throws {BerthError} as `openExec`, and `takeLock`
   */
  ports(): Promise<void> {
    const { folder, server, pod } = this.#input;
    const name = createHash('sha256').update(`${server.url} ${pod.namespace} ${pod.pod}`);
    const place = `${folder}/${name.digest('hex').slice(0, 16)}`;
    return new Promise((resolve, reject) => {
      const { signal } = this.#ending;
      const leading = leadOrFollow({ place, lead: () => this.#lead(), signal }, resolve);
      this.#leading = leading.then(resolve, reject);
    });
  }

  /** What the pod's programs have said before still arrives. */
  async stop(): Promise<void> {
    const link = await this.#link?.catch(() => undefined);
    if (link !== undefined && this.#sockets.size > 0) {
      const flushed = new Promise<void>((resolve) => {
        this.#flushed = resolve;
      });
      link.connections.say({ flush: true });
      await Promise.race([flushed, link.ended, after(lastMs)]);
      await this.#sockets.end(lastMs);
    }
    this.#ending.abort();
    this.#ports?.stop();
    link?.stop();
    await Promise.race([this.#leading, after(lastMs)]);
  }

  async #lead(): Promise<Lead | undefined> {
    const { uid, log } = this.#input;
    const { connections, ended } = await this.#opened();
    const ports = new BridgePorts({ uid, connections, sockets: this.#sockets, log });
    this.#ports = ports;
    const first = await Promise.race([ports.start(), ended]);
    const over = ended.then(({ why, impossible }) => {
      ports.stop();
      this.#link = undefined;
      if (impossible) log.info('ports are not forwarded to the pod', { why });
      else if (!this.#ending.signal.aborted)
        log.warning('ports are not forwarded any more', { why });
    });
    if (first?.impossible !== true) return { sync: () => ports.sync(), over };
    await over;
    return undefined;
  }

  #opened(): Promise<BridgeLink> {
    if (this.#link !== undefined) return this.#link;
    const link = openBridge(this.#input, this.#sink());
    this.#link = link;
    link.catch(() => {
      this.#link = undefined;
    });
    return link;
  }

  #sink(): BridgeSink {
    return {
      opened: (target, connection) => {
        const { agent, x11 } = this.#input;
        if (target === 'agent' && agent !== undefined)
          return this.#sockets.reach({ path: agent }, connection);
        if (target === 'x11' && x11 !== undefined)
          return this.#sockets.reach({ host: x11.host, port: 6000 + x11.display }, connection);
        return this.#ports?.opened(target, connection);
      },
      word: (value) => {
        if (typeof value !== 'object' || value === null) return;
        const word = value as Readonly<Record<string, unknown>>;
        if (typeof word.ready === 'object' && word.ready !== null)
          this.#ready?.(word.ready as Readonly<Record<string, unknown>>);
        if (word.flushed === true) this.#flushed?.();
        this.#ports?.heard(word);
      },
    };
  }

  async #cookie({
    display,
    authority,
  }: NonNullable<BridgeInput['x11']>): Promise<string | undefined> {
    const file = await readFile(authority).catch(() => Buffer.alloc(0));
    const cookie = cookieOf(file, display);
    if (cookie !== undefined) return cookieFields(cookie).toString('base64');
    this.#input.log.warning('no X11 in the pod: sshd left no cookie for the display', {
      ...{ display, file: authority },
    });
    return undefined;
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
