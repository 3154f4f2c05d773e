import { randomUUID } from 'node:crypto';
import type { Browser } from '../site/browser.ts';
import { waitFor } from '../wait-for.ts';

interface ServerModel {
  readonly ready: boolean;
  readonly pending: string | null;
}

/** A user with an API token of the hub. */
export class HubUser {
  readonly name: string;
  readonly token: string;
  readonly #url: string;
  readonly #browser: Browser | undefined;

  /** @param browser in which the user is logged in */
  constructor(url: string, name: string, token: string, browser?: Browser) {
    this.#url = url;
    this.name = name;
    this.token = token;
    this.#browser = browser;
  }

  /** The HTML of a page of the hub, as this user sees it. */
  async page(path: string): Promise<string> {
    return (await this.#browser?.get(`${this.#url}${path}`))?.text ?? '';
  }

  /** A request with this user's token. @param path below the public address of the hub */
  async request(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `token ${this.token}` },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  }

  /**
   * Starts a server and waits until it is ready.
   *
   * @param options what the form would send
   * @param server name of a named server; default: the user's own
   * @throws Error with what the hub says
   */
  async startServer(options: object, server = ''): Promise<void> {
    const started = await this.request('POST', this.#serverPath(server), options);
    if (started.status !== 201 && started.status !== 202)
      throw new Error(`${started.status} ${started.text}`);
    const what = `the server of ${this.name}`;
    const state = await waitFor({ what, timeoutMs: 120_000 }, async () => {
      const model = (await this.servers())[server];
      return model === undefined ? 'ended' : model.ready ? 'ready' : undefined;
    });
    if (state === 'ended') throw new Error(`${what} has not started`);
  }

  async stopServer(server = ''): Promise<void> {
    await this.request('DELETE', this.#serverPath(server));
    await waitFor({ what: `the end of the server of ${this.name}`, timeoutMs: 60_000 }, async () =>
      (await this.servers())[server] === undefined ? true : undefined,
    );
  }

  async servers(): Promise<Readonly<Record<string, ServerModel>>> {
    const { text } = await this.request('GET', `/hub/api/users/${this.name}`);
    return (JSON.parse(text) as { servers?: Record<string, ServerModel> }).servers ?? {};
  }

  /** Runs Python in a new kernel of the server. @returns what it printed */
  async runCell(code: string, server = ''): Promise<string> {
    const base = `/user/${this.name}/${server === '' ? '' : `${server}/`}`;
    const kernel = await this.request('POST', `${base}api/kernels`, { name: 'python3' });
    if (kernel.status !== 201) throw new Error(`${kernel.status} ${kernel.text}`);
    const { id } = JSON.parse(kernel.text) as { id: string };
    const address = `${this.#url.replace('http', 'ws')}${base}api/kernels/${id}/channels?token=${this.token}`;
    return runInKernel(address, code);
  }

  #serverPath(server: string): string {
    const path = `/hub/api/users/${this.name}/server`;
    return server === '' ? path : `${path}s/${server}`;
  }
}

/**
 * Runs code by Jupyter's messaging protocol 5.3, over a WebSocket.
 *
 * @param address of the kernel's channels
 * @param headers of the request that opens the WebSocket
 * @returns what the code printed
 */
export function runInKernel(
  address: string,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const id = randomUUID();
  const header = {
    msg_id: id,
    session: id,
    username: '',
    msg_type: 'execute_request',
    version: '5.3',
  };
  const content = { code, silent: false, store_history: false, allow_stdin: false };
  const socket = new WebSocket(address, { headers });
  let output = '';
  return new Promise((resolve, reject) => {
    socket.onopen = () =>
      socket.send(
        JSON.stringify({ header, parent_header: {}, metadata: {}, content, channel: 'shell' }),
      );
    socket.onerror = () => reject(new Error('the kernel cannot be reached'));
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(String(data)) as Message;
      if (message.parent_header.msg_id !== id) return;
      output += message.content.text ?? message.content.traceback?.join('\n') ?? '';
      if (message.header.msg_type === 'status' && message.content.execution_state === 'idle')
        resolve(output);
    };
  }).finally(() => socket.close()) as Promise<string>;
}

interface Message {
  readonly header: { readonly msg_type: string };
  readonly parent_header: { readonly msg_id?: string };
  readonly content: {
    readonly text?: string;
    readonly traceback?: readonly string[];
    readonly execution_state?: string;
  };
}
