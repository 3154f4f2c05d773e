import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** How a page is looked at. */
export interface View {
  /** CSS pixels. */
  readonly width: number;
  readonly script?: boolean;
  readonly dark?: boolean;
}

/** Debian's Chromium without a screen, told what to do with the Chrome DevTools Protocol. */
export class Chromium {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  #session = '';
  #next = 1;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = child;
    this.#profile = profile;
    this.#socket = socket;
  }

  static async start(): Promise<Chromium> {
    const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
    const child = spawn(
      '/usr/bin/chromium',
      [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0'],
        // No requests to anyone but the pages.
        ...['--disable-background-networking', '--disable-component-update', '--no-first-run'],
        ...['--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'],
        ...[`--user-data-dir=${profile}`, 'about:blank'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
    );
    let address: string | undefined;
    for await (const line of createInterface(child.stderr)) {
      address = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
      if (address !== undefined) break;
    }
    if (address === undefined) throw new Error('chromium ended before it could be reached');
    child.stderr.resume();
    const socket = new WebSocket(address);
    await once(socket, 'open');
    const browser = new Chromium(child, profile, socket);
    const { targetId } = (await browser.#send('Target.createTarget', { url: 'about:blank' })) as {
      targetId: string;
    };
    const attached = await browser.#send('Target.attachToTarget', { targetId, flatten: true });
    browser.#session = (attached as { sessionId: string }).sessionId;
    await browser.#send('Page.enable');
    return browser;
  }

  /** Opens an address, and waits until it is loaded. */
  async open(url: string, { width, script = true, dark = false }: View): Promise<void> {
    await this.#send('Emulation.setDeviceMetricsOverride', {
      ...{ width, height: 800, deviceScaleFactor: 1, mobile: width < 600 },
    });
    await this.#send('Emulation.setScriptExecutionDisabled', { value: !script });
    const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }];
    await this.#send('Emulation.setEmulatedMedia', { features });
    const loaded = this.#event('Page.loadEventFired');
    const { errorText } = (await this.#send('Page.navigate', { url })) as { errorText?: string };
    if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  /** Width of the contents, in CSS pixels. */
  async contentWidth(): Promise<number> {
    const metrics = (await this.#send('Page.getLayoutMetrics')) as {
      cssContentSize: { width: number };
    };
    return metrics.cssContentSize.width;
  }

  /** The value of an expression in the page, which is JSON or a promise of it. */
  async evaluate(expression: string): Promise<unknown> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.#send('Runtime.evaluate', options)) as {
      result: { value: unknown };
      exceptionDetails?: unknown;
    };
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  }

  /** A picture of the whole page, PNG. */
  async picture(): Promise<Buffer> {
    const options = { format: 'png', captureBeyondViewport: true };
    const { data } = (await this.#send('Page.captureScreenshot', options)) as { data: string };
    return Buffer.from(data, 'base64');
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, 'exit');
    // Its answer may be lost: the socket is closed with the browser.
    await Promise.race([this.#send('Browser.close'), exited]);
    await exited;
    this.#socket.close();
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async #send(method: string, params: object = {}): Promise<unknown> {
    const id = this.#next++;
    const answered = this.#message((answer) => answer.id === id);
    const session =
      this.#session === '' || method.startsWith('Browser.') ? {} : { sessionId: this.#session };
    this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #event(method: string): Promise<Answer> {
    return this.#message((one) => one.method === method && one.sessionId === this.#session);
  }

  #message(wanted: (one: Answer) => boolean): Promise<Answer> {
    return new Promise((resolve) => {
      const listener = ({ data }: MessageEvent): void => {
        const message = JSON.parse(String(data)) as Answer;
        if (!wanted(message)) return;
        this.#socket.removeEventListener('message', listener);
        resolve(message);
      };
      this.#socket.addEventListener('message', listener);
    });
  }
}
