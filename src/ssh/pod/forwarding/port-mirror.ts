import type { Socket } from 'node:net';
import { asBerthError } from '../../../errors.ts';
import type { LogFields, Logger } from '../../../log.ts';
import type { Connection, ConnectionSink } from './protocol/bridge-end.ts';
import type { Connections } from './protocol/multiplexer.ts';
import {
  nameOf,
  placeChanges,
  portOf,
  saidPlaces,
  type Place,
  type PortRange,
} from './protocol/endpoints.ts';
import { listenAtPath, listenOnLoopback, type LocalServer } from './local-server.ts';
import type { BridgedSockets } from './relay-sockets.ts';
import { SshdListeners, type Address } from './sshd-listeners.ts';
import { PeerUids } from './peer-uids.ts';
import type { SocketFolders } from './socket-directories.ts';
import type { UserSeats } from './user-quota.ts';

export interface BridgePortsInput {
  readonly uid: number;
  readonly connections: Connections;
  readonly sockets: BridgedSockets;
  readonly folders: SocketFolders;
  /** Of all that the user's pods have on this host. */
  readonly seats: UserSeats;
  /** Ports that the site keeps for its services. */
  readonly reserved: readonly PortRange[];
  readonly log: Logger;
}

/** How often the login node is looked at, and a port that was taken is tried again, in milliseconds. */
const paceMs = 1000;

/** The helper answers in a turn of its own; one that does not is not waited for. Milliseconds. */
const answerMs = 5000;

/** What the pod says is followed at most so often, in milliseconds: it may say as much as it likes. */
const followMs = 100;

/** Lines for syslog about what is not forwarded, and about strangers, that one bridge has at most. */
const mostLines = 32;

/**
 * Ports and sockets on both sides: those that listen in the pod listen on the login node as well, for sshd's `-L` and
 * `-D`, and sshd's own of a `-R` listen in the pod.
 */
export class BridgePorts {
  readonly #input: BridgePortsInput;
  readonly #sshd: SshdListeners;
  readonly #peers = new PeerUids();
  readonly #servers = new Map<Place, LocalServer>();
  /** Asked for, and somebody else has them here. */
  readonly #taken = new Set<Place>();
  /** Of which syslog knows. */
  readonly #told = new Set<string>();
  readonly #waiting = new Map<number, () => void>();
  #inPod: readonly Place[] = [];
  #mirrored: ReadonlyMap<Place, Address> | undefined;
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #following = false;
  #changed = false;
  #over = false;

  constructor(input: BridgePortsInput) {
    this.#input = input;
    this.#sshd = new SshdListeners(input.uid, input.folders.remote);
  }

  /** Resolves when the pod has what sshd listens on now. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      void this.sync();
      if (this.#taken.size > 0) void this.#follow();
    }, paceMs).unref();
    await this.sync();
  }

  /** The pod gets what sshd listens on now. */
  async sync(): Promise<void> {
    const now = this.#listeners();
    const changes = placeChanges(this.#mirrored?.keys() ?? [], now.keys());
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

  heard(word: Readonly<Record<string, unknown>>): void {
    if (typeof word.mirrored === 'number') {
      this.#waiting.get(word.mirrored)?.();
      for (const place of saidPlaces(word.taken))
        if (this.#mirrored?.has(place) === true) this.#warnTaken(place, 'in the pod');
    }
    if (word.listening === undefined) return;
    this.#inPod = saidPlaces(word.listening, this.#input.reserved);
    void this.#follow();
  }

  /** The pod's program opens a connection to what sshd listens on. */
  opened(target: string, connection: Connection): ConnectionSink | undefined {
    const address = this.#mirrored?.get(target);
    return address && this.#input.sockets.reach(address, connection);
  }

  stop(): void {
    this.#over = true;
    clearInterval(this.#timer);
    for (const server of this.#servers.values()) {
      server.close();
      this.#input.seats.give();
    }
    this.#servers.clear();
    for (const resolve of this.#waiting.values()) resolve();
  }

  #listeners(): ReadonlyMap<Place, Address> {
    try {
      return this.#sshd.now();
    } catch (thrown) {
      this.#fault(thrown);
      return this.#mirrored ?? new Map<Place, Address>();
    }
  }

  /** One change after the other; what comes meanwhile counts as one. */
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
    const error = asBerthError(thrown, 'forwarding ports to the pod');
    if (this.#isNew(error.message)) this.#input.log.error(error);
  }

  async #change(): Promise<void> {
    const { added, removed } = placeChanges(this.#servers.keys(), this.#inPod);
    for (const place of removed) {
      this.#servers.get(place)?.close();
      this.#servers.delete(place);
      this.#input.seats.give();
    }
    for (const place of this.#taken)
      if (!this.#inPod.includes(place) && this.#mirrored?.has(place) !== true)
        this.#taken.delete(place);
    for (const place of added) await this.#mirror(place);
  }

  async #mirror(place: Place): Promise<void> {
    const { seats } = this.#input;
    if (!(await seats.take())) {
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
    seats.give();
    if (server === undefined) this.#warnTaken(place, 'on the login node');
  }

  async #listen(place: Place): Promise<LocalServer | undefined> {
    const [port, name] = [portOf(place), nameOf(place)];
    if (port !== undefined)
      return listenOnLoopback(port, (socket) => void this.#accepted(socket, port));
    if (name === undefined) return undefined;
    return listenAtPath(`${this.#input.folders.local}/${name}`, (socket) => {
      socket.on('error', () => undefined);
      void this.#through(socket, place);
    });
  }

  #warnTaken(place: Place, where: string): void {
    this.#taken.add(place);
    this.#tell('not forwarded: it is taken', { place, where });
  }

  /** Each thing once, and not without end: the pod says what there is to be told. */
  #tell(message: string, fields: LogFields): void {
    if (this.#isNew(JSON.stringify([message, fields]))) this.#input.log.warning(message, fields);
  }

  #isNew(line: string): boolean {
    if (this.#told.has(line) || this.#told.size >= mostLines) return false;
    this.#told.add(line);
    return true;
  }

  async #through(socket: Socket, place: Place): Promise<void> {
    const { connections, sockets } = this.#input;
    if (!(await sockets.seat(socket))) socket.destroy();
    else if (!connections.open(place, (connection) => sockets.join(socket, connection)))
      socket.destroy();
  }

  /**
   * Loopback is every user's. Only sshd that serves this user, and the user's own programs, get through:
   * whose socket the other end is, the kernel says. Nothing has been read before.
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
    this.#tell('another user came to a forwarded port', { port, uid: whose });
  }
}
