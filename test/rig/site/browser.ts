import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

export interface Page {
  readonly status: number;
  readonly url: string;
  readonly text: string;
}

interface Answer extends Page {
  readonly location?: string;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

/** A minimal browser for logins: cookies by origin and path, redirects, and forms. */
export class Browser {
  readonly #ca: string;
  /** By origin, then by name and path. */
  readonly #cookies = new Map<string, Map<string, Cookie>>();

  /** @param ca PEM of the CA of all https sites */
  constructor(ca: string) {
    this.#ca = ca;
  }

  /** Fetches a page and follows its redirects. */
  async get(url: string): Promise<Page> {
    return this.#follow(await this.#send(url));
  }

  /** Sends a form and follows the redirects of the answer. */
  async submit(url: string, fields: Readonly<Record<string, string>>): Promise<Page> {
    return this.#follow(await this.#send(url, new URLSearchParams(fields).toString()));
  }

  async #follow(first: Answer): Promise<Page> {
    let answer = first;
    for (let hops = 0; answer.location !== undefined && hops < 10; hops += 1)
      answer = await this.#send(new URL(answer.location, answer.url).href);
    return answer;
  }

  /** Opens a page and, if Keycloak's login form is shown, logs in with it. */
  async open(url: string, user: string, password = `${user}-password`): Promise<Page> {
    const page = await this.get(url);
    const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1];
    if (action === undefined) return page;
    const form = new URLSearchParams({ username: user, password });
    const answer = await this.#send(action.replaceAll('&amp;', '&'), form.toString());
    if (answer.location === undefined)
      throw new Error(`login failed: ${answer.status} ${answer.text}`);
    return this.#follow(answer);
  }

  /** The value of the Cookie header of a request to this URL. */
  cookies(url: string): string {
    const { origin, pathname } = new URL(url);
    return (
      [...(this.#cookies.get(origin)?.values() ?? [])]
        .filter(({ path }) => pathname.startsWith(path))
        // RFC 6265, section 5.4: longer paths first.
        .sort((one, other) => other.path.length - one.path.length)
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
    );
  }

  #send(url: string, form?: string): Promise<Answer> {
    const { protocol, origin } = new URL(url);
    const cookie = this.cookies(url);
    const headers = {
      // mod_auth_openidc answers 401 instead of a redirect if the client does not accept HTML.
      accept: 'text/html',
      ...(cookie === '' ? {} : { cookie }),
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    };
    const options = { method: form === undefined ? 'GET' : 'POST', headers, agent: false as const };
    return new Promise((resolve, reject) => {
      const outgoing =
        protocol === 'https:' ? secure(url, { ...options, ca: this.#ca }) : plain(url, options);
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        this.#storeCookies(origin, incoming.headers['set-cookie'] ?? []);
        const {
          statusCode: status = 0,
          headers: { location },
        } = incoming;
        let text = '';
        incoming.setEncoding('utf8').on('data', (part: string) => (text += part));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({ status, url, text, ...(location === undefined ? {} : { location }) }),
        );
      });
      outgoing.end(form);
    });
  }

  #storeCookies(origin: string, lines: readonly string[]): void {
    const jar = this.#cookies.get(origin) ?? new Map<string, Cookie>();
    this.#cookies.set(origin, jar);
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /; *path=([^;]+)/i.exec(line)?.[1] ?? '/';
      const key = `${name} ${path}`;
      if (value === '' || /max-age=0|expires=thu, 01.jan.1970/i.test(line)) jar.delete(key);
      else jar.set(key, { name, value, path });
    }
  }
}
