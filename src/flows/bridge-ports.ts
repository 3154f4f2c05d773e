import type { Socket } from 'node:net';
import { asBerthError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Connection, Connections, ConnectionSink } from '../session/bridge/connections.ts';
import { pathOf, placeChanges, portOf, saidPlaces, type Place } from '../session/bridge/places.ts';
import { tcpSockets, uidAtOtherEnd } from '../session/bridge/proc-net-tcp.ts';
import { listenAtPath, listenOnLoopback, type LocalServer } from '../system/local-server.ts';
import { tcpLines } from '../system/listening-sockets.ts';
import type { BridgedSockets } from './bridge-sockets.ts';
import { SshdListeners, type Address } from './own-listeners.ts';

export interface BridgePortsInput {
  readonly uid: number;
  readonly connections: Connections;
  readonly sockets: BridgedSockets;
  readonly log: Logger;
}

/** How often the login node is looked at, and a port that was taken is tried again, in milliseconds. */
const paceMs = 1000;

/** The helper answers in a turn of its own; one that does not is not waited for. Milliseconds. */
const answerMs = 5000;

/**
 * Ports and sockets on both sides: those that listen in the pod listen on the login node as well, for sshd's `-L` and
 * `-D`, and sshd's own of a `-R` listen in the pod.
 */
export class BridgePorts {
  readonly #input: BridgePortsInput;
  readonly #sshd: SshdListeners;
  readonly #servers = new Map<Place, LocalServer>();
  /** Asked for, and somebody else has them here. */
  readonly #taken = new Set<Place>();
  readonly #strangers = new Set<string>();
  readonly #waiting = new Map<number, () => void>();
  #inPod: readonly Place[] = [];
  #mirrored: ReadonlyMap<Place, Address> | undefined;
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #work = Promise.resolve();
  #over = false;

  constructor(input: BridgePortsInput) {
    this.#input = input;
    this.#sshd = new SshdListeners(input.uid);
  }

  /** Resolves when the pod has what sshd listens on now. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      void this.sync();
      if (this.#taken.size > 0) this.#follow();
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
      for (const place of saidPlaces(word.taken)) this.#warnTaken(place, 'in the pod');
    }
    if (word.listening === undefined) return;
    this.#inPod = saidPlaces(word.listening);
    this.#follow();
  }

  /** The pod's program opens a connection to what sshd listens on. */
  opened(target: string, connection: Connection): ConnectionSink | undefined {
    const address = this.#mirrored?.get(target);
    return address && this.#input.sockets.reach(address, connection);
  }

  stop(): void {
    this.#over = true;
    clearInterval(this.#timer);
    for (const server of this.#servers.values()) server.close();
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

  /** One change after the other. */
  #follow(): void {
    this.#work = this.#work
      .then(() => this.#change())
      .catch((thrown: unknown) => this.#fault(thrown));
  }

  #fault(thrown: unknown): void {
    this.#input.log.error(asBerthError(thrown, 'forwarding ports to the pod'));
  }

  async #change(): Promise<void> {
    const { added, removed } = placeChanges(this.#servers.keys(), this.#inPod);
    for (const place of removed) {
      this.#servers.get(place)?.close();
      this.#servers.delete(place);
    }
    for (const place of this.#taken)
      if (!this.#inPod.includes(place) && this.#mirrored?.has(place) !== true)
        this.#taken.delete(place);
    for (const place of added) await this.#mirror(place);
  }

  async #mirror(place: Place): Promise<void> {
    const server = await this.#listen(place);
    if (server === undefined) this.#warnTaken(place, 'on the login node');
    else if (this.#over) server.close();
    else {
      this.#taken.delete(place);
      this.#servers.set(place, server);
    }
  }

  async #listen(place: Place): Promise<LocalServer | undefined> {
    const [port, path] = [portOf(place), pathOf(place)];
    if (port !== undefined)
      return listenOnLoopback(port, (socket) => void this.#accepted(socket, port));
    if (path === undefined) return undefined;
    return listenAtPath(path, (socket) => this.#through(socket, place));
  }

  #warnTaken(place: Place, where: string): void {
    if (this.#taken.has(place)) return;
    this.#taken.add(place);
    this.#input.log.warning('not forwarded: it is taken', { place, where });
  }

  #through(socket: Socket, place: Place): void {
    const { connections, sockets } = this.#input;
    connections.open(place, (connection) => sockets.join(socket, connection));
  }

  /**
   * Loopback is every user's. Only sshd that serves this user, and the user's own programs, get through:
   * whose socket the other end is, the kernel says. Nothing has been read before.
   */
  async #accepted(socket: Socket, port: number): Promise<void> {
    socket.on('error', () => undefined);
    const here = { address: socket.localAddress ?? '', port };
    const there = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
    const { uid, log } = this.#input;
    const whose = uidAtOtherEnd(tcpSockets(await tcpLines()), here, there);
    if (whose !== uid) {
      socket.destroy();
      // Said once: they may come as often as they like.
      const who = `${port} ${whose ?? ''}`;
      if (!this.#strangers.has(who))
        log.warning('another user came to a forwarded port', { port, uid: whose });
      this.#strangers.add(who);
    } else if (!socket.destroyed) this.#through(socket, `tcp:${port}`);
  }
}
