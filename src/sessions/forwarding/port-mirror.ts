import type { Socket } from 'node:net';
import { asBerthError } from '../../system/errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import type { LogEvent, LogEventFields } from '../../system/text/log-events.ts';
import type { ForwardedConnection, ConnectionSink } from './protocol/multiplexed-connection.ts';
import type { Multiplexer } from './protocol/multiplexer.ts';
import {
  endpointName,
  endpointChanges,
  endpointPort,
  parseEndpoints,
  type Endpoint,
  type PortRange,
} from './protocol/forwardable-endpoints.ts';
import type { SocketDirectories } from './forwarding-directories.ts';
import { listenAtPath, listenOnLoopback, type LocalServer } from './local-server.ts';
import type { RelaySockets } from './relay-sockets.ts';
import { SshdListeners, type Address } from './sshd-listeners.ts';
import { PeerUids } from './peer-uids.ts';
import type { UserQuota } from './user-quota.ts';

export interface PortMirrorInput {
  readonly uid: number;
  readonly connections: Multiplexer;
  readonly sockets: RelaySockets;
  readonly directories: SocketDirectories;
  /** The limit over all of the user's sessions on this host. */
  readonly slots: UserQuota;
  /** Ports that are not forwarded: those that the site reserves for its services, and Berth's own. */
  readonly reserved: readonly PortRange[];
  readonly log: Logger;
}

/** Interval for checking the login node, and for retrying ports that were in use. Milliseconds. */
const paceMs = 1000;

/** How long to wait for the helper's answer. Milliseconds. */
const answerMs = 5000;

/** Shortest time between two updates from the pod, which may send any number of them. Milliseconds. */
const followMs = 100;

/** Most lines in syslog about ports that are not forwarded and connections of other users, per session. */
const mostLines = 32;

/**
 * Mirrors listening ports and sockets: those of the user where sessions run on the login node, for sshd's `-L` and `-D`,
 * and those that sshd opens for `-R` where sessions run.
 */
export class PortMirror {
  readonly #input: PortMirrorInput;
  readonly #sshd: SshdListeners;
  readonly #peers = new PeerUids();
  readonly #servers = new Map<Endpoint, LocalServer>();
  /** Wanted, but in use on this side. */
  readonly #taken = new Set<Endpoint>();
  /** Already logged. */
  readonly #told = new Set<string>();
  readonly #waiting = new Map<number, () => void>();
  #inPod: readonly Endpoint[] = [];
  #mirrored: ReadonlyMap<Endpoint, Address> | undefined;
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #following = false;
  #changed = false;
  #over = false;

  constructor(input: PortMirrorInput) {
    this.#input = input;
    this.#sshd = new SshdListeners(input.uid, input.directories.remote);
  }

  /** Resolves when what sshd listens on now is mirrored in the pod. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      void this.sync();
      if (this.#taken.size > 0) void this.#follow();
    }, paceMs).unref();
    await this.sync();
  }

  /** Mirrors what sshd listens on now in the pod. */
  async sync(): Promise<void> {
    const now = this.#listeners();
    const changes = endpointChanges(this.#mirrored?.keys() ?? [], now.keys());
    const first = this.#mirrored === undefined;
    this.#mirrored = now;
    if (!first && changes.added.length + changes.removed.length === 0) return;
    this.#turn += 1;
    const turn = this.#turn;
    const answered = new Promise<void>((resolve) => this.#waiting.set(turn, resolve));
    this.#input.connections.say({ mirror: [...now.keys()], turn });
    const late = new Promise((resolve) => setTimeout(resolve, answerMs).unref());
    await Promise.race([answered, late]);
    this.#waiting.delete(turn);
  }

  onMessage(word: Readonly<Record<string, unknown>>): void {
    if (typeof word.mirrored === 'number') {
      this.#waiting.get(word.mirrored)?.();
      for (const place of parseEndpoints(word.taken))
        if (this.#mirrored?.has(place) === true) this.#warnTaken(place, 'where the session runs');
    }
    if (word.listening === undefined) return;
    this.#inPod = parseEndpoints(word.listening, this.#input.reserved);
    void this.#follow();
  }

  /** The helper opens a connection to something that sshd listens on. */
  opened(target: string, connection: ForwardedConnection): ConnectionSink | undefined {
    const address = this.#mirrored?.get(target);
    return address && this.#input.sockets.reach(address, connection);
  }

  stop(): void {
    this.#over = true;
    clearInterval(this.#timer);
    for (const server of this.#servers.values()) {
      server.close();
      this.#input.slots.give();
    }
    this.#servers.clear();
    for (const resolve of this.#waiting.values()) resolve();
  }

  #listeners(): ReadonlyMap<Endpoint, Address> {
    try {
      return this.#sshd.now();
    } catch (thrown) {
      this.#fault(thrown);
      return this.#mirrored ?? new Map<Endpoint, Address>();
    }
  }

  /** Applies updates one at a time; those that arrive meanwhile are combined. */
  async #follow(): Promise<void> {
    this.#changed = true;
    if (this.#following) return;
    this.#following = true;
    while (this.#changed && !this.#over) {
      this.#changed = false;
      await this.#change().catch((thrown: unknown) => this.#fault(thrown));
      await new Promise((resolve) => setTimeout(resolve, followMs).unref());
    }
    this.#following = false;
  }

  #fault(thrown: unknown): void {
    const error = asBerthError(thrown, 'forwarding ports to the session');
    if (this.#isNew(error.message)) this.#input.log.error(error);
  }

  async #change(): Promise<void> {
    const { added, removed } = endpointChanges(this.#servers.keys(), this.#inPod);
    for (const place of removed) {
      this.#servers.get(place)?.close();
      this.#servers.delete(place);
      this.#input.slots.give();
    }
    for (const place of this.#taken)
      if (!this.#inPod.includes(place) && this.#mirrored?.has(place) !== true)
        this.#taken.delete(place);
    for (const place of added) await this.#mirror(place);
  }

  async #mirror(place: Endpoint): Promise<void> {
    const { slots } = this.#input;
    if (!(await slots.take())) {
      this.#taken.add(place);
      return;
    }
    const server = await this.#listen(place).catch((thrown: unknown) => {
      this.#fault(thrown);
      return undefined;
    });
    if (server !== undefined && !this.#over) {
      this.#taken.delete(place);
      this.#servers.set(place, server);
      return;
    }
    server?.close();
    slots.give();
    if (server === undefined) this.#warnTaken(place, 'on the login node');
  }

  async #listen(place: Endpoint): Promise<LocalServer | undefined> {
    const [port, name] = [endpointPort(place), endpointName(place)];
    if (port !== undefined)
      return listenOnLoopback(port, (socket) => void this.#accepted(socket, port));
    if (name === undefined) return undefined;
    return listenAtPath(`${this.#input.directories.local}/${name}`, (socket) => {
      socket.on('error', () => undefined);
      void this.#through(socket, place);
    });
  }

  #warnTaken(place: Endpoint, where: string): void {
    this.#taken.add(place);
    this.#tell('not forwarded: already in use', { place, where });
  }

  /** Logs each message once, and a limited number: the pod determines what is logged. */
  #tell<Event extends LogEvent>(event: Event, fields: LogEventFields<Event>): void {
    if (this.#isNew(JSON.stringify([event, fields]))) this.#input.log.warning(event, fields);
  }

  #isNew(line: string): boolean {
    if (this.#told.has(line) || this.#told.size >= mostLines) return false;
    this.#told.add(line);
    return true;
  }

  async #through(socket: Socket, place: Endpoint): Promise<void> {
    const { connections, sockets } = this.#input;
    if (!(await sockets.acquireSlot(socket))) socket.destroy();
    else if (!connections.open(place, (connection) => sockets.join(socket, connection)))
      socket.destroy();
  }

  /**
   * Every user can connect to loopback. Only this user's sshd and programs are let through: the kernel reports who owns
   * the other end. Nothing is read before that.
   */
  async #accepted(socket: Socket, port: number): Promise<void> {
    socket.on('error', () => undefined);
    const here = { address: socket.localAddress ?? '', port };
    const there = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
    const whose = await this.#peers.of(here, there);
    if (whose === this.#input.uid) {
      if (!socket.destroyed) await this.#through(socket, `tcp:${port}`);
      return;
    }
    socket.destroy();
    this.#tell('another user connected to a forwarded port', { port, uid: whose });
  }
}
