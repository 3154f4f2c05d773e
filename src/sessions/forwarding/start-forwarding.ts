import { mkdir } from 'node:fs/promises';
import type { Profile } from '../../config/schema/profile/profile.ts';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { forwardedDisplay } from './protocol/xauthority.ts';
import type { SessionHost } from '../request/session-host.ts';
import {
  forwardingStateDir,
  forwardSocketDirs,
  type SocketDirectories,
} from './forwarding-directories.ts';
import { displayAddress, isOwnSocket, SshdListeners } from './sshd-listeners.ts';
import type { Forwarder, ForwarderInput } from './forwarder.ts';

export type ForwardingInput = Pick<ForwarderInput, 'target' | 'log'> & {
  readonly host: SessionHost;
  readonly profile: Profile;
  /** The environment that sshd set: its agent and its display are forwarded. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
};

/** Ports are forwarded for sessions that last this long; before, nothing is loaded. Milliseconds. */
const laterMs = 1000;

/**
 * sshd's forwards for a session in a pod or a job. Most sessions end before they need any, so the forwarder is loaded and started
 * only if sshd has already opened a forward, or when the session lasts.
 */
export class Forwarding {
  readonly #input: ForwardingInput;
  readonly #sockets: SocketDirectories;
  #bridge: Promise<Forwarder> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(input: ForwardingInput) {
    this.#input = input;
    this.#sockets = forwardSocketDirs(input.host.runtimeDir);
  }

  /**
   * Forwards what a command may use at once.
   *
   * @returns environment variables for the session
   * @throws {BerthError} as `openExec`, if a pod does not exist or cannot be reached
   */
  async before(): Promise<Readonly<Record<string, string>>> {
    if (!this.#input.profile.pod.forwards) return {};
    const { runtimeDir } = this.#input.host;
    const { local, remote } = this.#sockets;
    try {
      for (const each of [forwardingStateDir(runtimeDir), local, remote])
        await mkdir(each, { recursive: true, mode: 0o700 });
      return await this.#atOnce();
    } catch (thrown) {
      const error = asBerthError(thrown, 'forwarding to the session');
      // The command would fail in the same way. Other errors only affect the forwards.
      if (error.code.startsWith('exec-')) throw error;
      this.#input.log.error(error);
      return {};
    }
  }

  /** Call this if a pod has to be created first; `before` is called again afterwards. */
  postpone(): void {
    clearTimeout(this.#timer);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await (await this.#bridge)?.stop();
  }

  async #atOnce(): Promise<Readonly<Record<string, string>>> {
    const { host, profile, env } = this.#input;
    const { uid } = host.user;
    const agent = profile.agent ? ownSocket(env.SSH_AUTH_SOCK, uid) : undefined;
    const x11 = profile.x11 ? displayOf(host, env) : undefined;
    const bridge = () => this.#loaded({ agent, x11 });
    const own = agent !== undefined || x11 !== undefined ? await (await bridge()).own() : {};
    if (new SshdListeners(uid, this.#sockets.remote).now().size > 0) await (await bridge()).ports();
    else this.#later();
    return own;
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#portsNow(), laterMs).unref();
  }

  async #portsNow(): Promise<void> {
    try {
      await (await this.#loaded({})).ports();
    } catch (thrown) {
      const error = asBerthError(thrown, 'forwarding ports to the session');
      if (this.#input.target.notReady?.includes(error.code) === true) this.#later();
      else this.#input.log.error(error);
    }
  }

  #loaded(own: Pick<ForwarderInput, 'agent' | 'x11'>): Promise<Forwarder> {
    const { host, log, target } = this.#input;
    const { uid } = host.user;
    const directory = forwardingStateDir(host.runtimeDir);
    const sockets = this.#sockets;
    this.#bridge ??= import('./forwarder.ts').then(
      (loaded) => new loaded.Forwarder({ ...own, uid, log, directory, sockets, target }),
    );
    return this.#bridge;
  }
}

/** sshd's display if it belongs to this user. The client may have sent any value. */
function displayOf({ user }: SessionHost, env: ForwardingInput['env']): ForwarderInput['x11'] {
  const display = forwardedDisplay(env.DISPLAY);
  const host = display === undefined ? undefined : displayAddress(display, user.uid);
  if (display === undefined || host === undefined) return undefined;
  return { display, host, authority: env.XAUTHORITY ?? `${user.home}/.Xauthority` };
}

/** sshd's agent socket if it belongs to this user. The client may have sent any path. */
function ownSocket(path: string | undefined, uid: number): string | undefined {
  if (path === undefined || !/^\/tmp\/ssh-\w+\/agent\.\d+$|\/\.ssh\/agent\/[\w.-]+$/.test(path))
    return undefined;
  return isOwnSocket(path, uid) ? path : undefined;
}
