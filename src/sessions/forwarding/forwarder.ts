import { createHash, randomBytes } from 'node:crypto';
import { asBerthError } from '../../system/errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import { readUserFile } from '../../system/user-file.ts';
import { type HelperConnection, startHelper, type StartProgram } from './helper-connection.ts';
import { type Leadership, leadOrFollow } from './leader-election.ts';
import { reservedPorts } from './sshd-listeners.ts';
import { PortMirror } from './port-mirror.ts';
import { parsePortRanges } from './protocol/forwardable-endpoints.ts';
import type { MultiplexerSink } from './protocol/multiplexer.ts';
import { cookieFields, cookieOf } from './protocol/xauthority.ts';
import { RelaySockets } from './relay-sockets.ts';
import type { SocketDirectories } from './forwarding-directories.ts';
import { UserQuota } from './user-quota.ts';

/** Where connections are forwarded to. */
export interface ForwardingTarget {
  /** The same for all sessions in one place: one of them forwards its ports. */
  readonly name: string;
  readonly start: StartProgram;
  /** Error codes of a place that does not exist or does not run yet. */
  readonly notReady?: readonly string[];
  /** Ports of Berth's own in this place. */
  readonly ownPorts?: readonly number[];
}

export interface ForwarderInput {
  readonly target: ForwardingTarget;
  readonly uid: number;
  /** A directory of the user, for the sockets and locks that the user's sessions on this host share. */
  readonly directory: string;
  readonly sockets: SocketDirectories;
  readonly log: Logger;
  /** Path of sshd's agent socket. */
  readonly agent?: string;
  /** sshd's display: its number, the address it listens on, and the path of the Xauthority file. */
  readonly x11?: { readonly display: number; readonly host: string; readonly authority: string };
}

/** Limits of a user on this host, over all sessions: blocks, and the size of each. */
const userConnections = { name: 'connections', blocks: 16, size: 32 } as const;
const userPlaces = { name: 'places', blocks: 4, size: 32 } as const;

/** How long to wait for the session's sockets. After that the session starts without them. Milliseconds. */
const readyMs = 10_000;

/** Time limit at the end, for each step of sending what is in transit. Milliseconds. */
const lastMs = 1000;

/**
 * Forwards connections between sshd's sockets on the login node and sockets where the session runs, in a pod or on a
 * compute node. sshd opens its sockets on the login node; a helper beside the session opens the others.
 */
export class Forwarder {
  readonly #input: ForwarderInput;
  readonly #slots: { readonly connections: UserQuota; readonly places: UserQuota };
  readonly #sockets: RelaySockets;
  /** Set when `stop` begins; `#ending` is aborted when what was in transit has arrived. */
  #stopping = false;
  readonly #ending = new AbortController();
  #link: Promise<HelperConnection> | undefined;
  #ports: PortMirror | undefined;
  #leading: Promise<unknown> = Promise.resolve();
  #ready: ((word: Readonly<Record<string, unknown>>) => void) | undefined;
  #flushed: (() => void) | undefined;
  /** The helper violated the protocol, so no other one is started. */
  #refused = false;

  constructor(input: ForwarderInput) {
    this.#input = input;
    const { directory, log } = input;
    this.#slots = {
      connections: new UserQuota({ ...userConnections, directory, log }),
      places: new UserQuota({ ...userPlaces, directory, log }),
    };
    this.#sockets = new RelaySockets(this.#slots.connections);
  }

  /**
   * Forwards agent and display of this session.
   *
   * @returns the environment variables for the session, without those of what could not be forwarded
   * @throws {BerthError} the errors of the target's `start`
   */
  async own(): Promise<Readonly<Record<string, string>>> {
    const { agent, x11, log } = this.#input;
    const cookie = x11 && (await this.#cookie(x11));
    if (agent === undefined && cookie === undefined) return {};
    const { connections, ended } = await this.#opened();
    const directory = `/tmp/berth-${randomBytes(12).toString('hex')}`;
    const ready = new Promise<Readonly<Record<string, unknown>>>((resolve) => {
      this.#ready = resolve;
    });
    connections.say({
      begin: {
        directory,
        agent: agent !== undefined,
        ...(cookie !== undefined && { x11: { display: x11?.display, cookie } }),
      },
    });
    const late = new Promise<string>((resolve) => {
      setTimeout(
        () => resolve(`the helper did not answer within ${readyMs / 1000} s`),
        readyMs,
      ).unref();
    });
    const word = await Promise.race([ready, ended, late]);
    if (typeof word === 'string' || 'why' in word) {
      const why = typeof word === 'string' ? word : String(word.why);
      log.warning('the agent and the display are not forwarded to the session', { why });
      return {};
    }
    const display = displayOf(word.display);
    return {
      ...(agent !== undefined && { SSH_AUTH_SOCK: `${directory}/agent` }),
      ...(display !== undefined && {
        DISPLAY: `localhost:${display}.0`,
        XAUTHORITY: `${directory}/Xauthority`,
      }),
    };
  }

  /**
   * Forwards ports until the end; another session of the user may do it in place of this one. Resolves when they are
   * forwarded.
   *
   * @throws {BerthError} the errors of the target's `start`, and of `tryLock`
   */
  ports(): Promise<void> {
    const { directory, target } = this.#input;
    const name = createHash('sha256').update(target.name);
    const place = `${directory}/${name.digest('hex').slice(0, 16)}`;
    return new Promise((resolve, reject) => {
      const { signal } = this.#ending;
      const leading = leadOrFollow({ place, lead: () => this.#lead(), signal }, resolve);
      this.#leading = leading.then(resolve, reject);
    });
  }

  /** Ends forwarding, after what the session's programs have sent has arrived. */
  async stop(): Promise<void> {
    this.#stopping = true;
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
    await Promise.all([this.#slots.connections.end(), this.#slots.places.end()]);
  }

  async #lead(): Promise<Leadership | undefined> {
    if (this.#refused) return undefined;
    const { uid, log, sockets: directories, target } = this.#input;
    const own = (target.ownPorts ?? []).map((port) => ({ from: port, to: port }));
    const { connections, ended } = await this.#opened();
    const ports = new PortMirror({
      uid,
      connections,
      directories,
      log,
      sockets: this.#sockets,
      slots: this.#slots.places,
      reserved: [...parsePortRanges(reservedPorts()), ...own],
    });
    this.#ports = ports;
    const first = await Promise.race([ports.start(), ended]);
    const over = ended.then(({ why, impossible, fault }) => {
      ports.stop();
      if (impossible) log.info('ports are not forwarded to the session', { why });
      else if (!this.#ending.signal.aborted && fault === undefined)
        log.warning('forwarding of ports has stopped', { why });
    });
    if (first?.impossible !== true)
      return { sync: () => ports.sync().then(() => !this.#stopping), over };
    await over;
    return undefined;
  }

  #opened(): Promise<HelperConnection> {
    if (this.#link !== undefined) return this.#link;
    const link = startHelper(this.#input.target.start, this.#sink());
    this.#link = link;
    link
      .then(({ ended }) => ended)
      .then(({ fault }) => {
        this.#refused ||= fault !== undefined;
        if (fault !== undefined) this.#input.log.error(fault);
      })
      .catch(() => undefined)
      .finally(() => {
        this.#link = undefined;
      });
    return link;
  }

  #sink(): MultiplexerSink {
    return {
      opened: (target, connection) => {
        const { agent, x11 } = this.#input;
        if (target === 'agent' && agent !== undefined)
          return this.#sockets.reach({ path: agent }, connection);
        if (target === 'x11' && x11 !== undefined)
          return this.#sockets.reach({ host: x11.host, port: 6000 + x11.display }, connection);
        return this.#ports?.opened(target, connection);
      },
      word: (word) => {
        if (typeof word.ready === 'object' && word.ready !== null)
          this.#ready?.(word.ready as Readonly<Record<string, unknown>>);
        if (word.flushed === true) this.#flushed?.();
        this.#ports?.onMessage(word);
      },
    };
  }

  async #cookie({
    display,
    authority,
  }: NonNullable<ForwarderInput['x11']>): Promise<string | undefined> {
    const { uid, log } = this.#input;
    let why = 'there is no X11 cookie for the display';
    try {
      const cookie = await x11Cookie(authority, display, uid);
      if (cookie !== undefined) return cookie;
    } catch (thrown) {
      why = asBerthError(thrown, 'reading the X11 cookie').message;
    }
    log.warning('X11 is not forwarded to the session', { display, file: authority, why });
    return undefined;
  }
}

/** The display number that the helper reported, if it is valid. */
function displayOf(said: unknown): number | undefined {
  return Number.isInteger(said) && Number(said) >= 0 && Number(said) < 100
    ? Number(said)
    : undefined;
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** An entry has about fifty bytes, and after years a file has some hundred of them. Bytes. */
const longestFile = 256 * 1024;

/**
 * The cookie of a display from the user's Xauthority file, in base64, in the form that the entry for another display
 * needs. Pods and jobs can write the home too, so the file may be anything.
 *
 * @returns undefined if there is none
 * @throws {BerthError} `user-file-unsafe`, `user-file-too-large`, `user-file-unreadable`
 */
export async function x11Cookie(
  path: string,
  display: number,
  uid: number,
): Promise<string | undefined> {
  const bytes = await readUserFile(path, { uid, maximumBytes: longestFile });
  const cookie = bytes && cookieOf(bytes, display);
  return cookie && cookieFields(cookie).toString('base64');
}
