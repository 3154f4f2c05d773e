import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parseAllDocuments } from 'yaml';
import { freePorts } from '../free-ports.ts';

const component = new URL('../../../etc/kubernetes/pages/pages.yaml', import.meta.url);

/** nginx.conf of the component. */
async function componentConfig(): Promise<string> {
  const documents = parseAllDocuments(await readFile(component, 'utf8'));
  const [map] = documents.map((one) => one.toJS() as { data?: Record<string, string> });
  const text = map?.data?.['nginx.conf'];
  if (text === undefined) throw new Error('the component has no nginx.conf');
  return text;
}

/** As in the pod: nothing can be written but an empty /tmp, and the user is none of the host's. */
const asInPod = `
  mount --make-rprivate /
  mount -t tmpfs tmpfs /srv
  mkdir /srv/pages
  mount --bind "$1" /srv/pages
  printf %s "$2" >/srv/nginx.conf
  mount -t tmpfs tmpfs /tmp
  mount -o remount,bind,ro /srv/pages
  mount -o remount,bind,ro /srv
  mount -o remount,bind,ro /
  ! touch /written 2>/dev/null
  exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
    nginx -e stderr -c /srv/nginx.conf -g 'daemon off;'`;

/** Debian's nginx with the configuration of the component. */
export class Nginx {
  readonly #process: ChildProcess;
  readonly url: string;
  /** Address of stub_status. */
  readonly status: string;

  private constructor(child: ChildProcess, port: number, statusPort: number) {
    this.#process = child;
    this.url = `http://127.0.0.1:${port}`;
    this.status = `http://127.0.0.1:${statusPort}/stub_status`;
  }

  /** @param pages the directory that is /pages in the pod */
  static async start(pages: string): Promise<Nginx> {
    const { port, statusPort } = await freePorts(['port', 'statusPort']);
    const config = (await componentConfig())
      .replace('listen 8080;', `listen 127.0.0.1:${port};`)
      .replace('listen 127.0.0.1:8081;', `listen 127.0.0.1:${statusPort};`)
      .replace('root /pages;', 'root /srv/pages;')
      .replace('error_log stderr;', 'error_log stderr notice;');
    const args = ['--mount', 'bash', '-euc', asInPod, 'bash', pages, config];
    const child = spawn('unshare', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const said: string[] = [];
    for await (const line of createInterface(child.stderr)) {
      said.push(line);
      // Its sockets listen before it starts workers.
      if (line.includes('start worker processes')) break;
    }
    if (!said.some((line) => line.includes('start worker processes')))
      throw new Error(`nginx did not start:\n${said.join('\n')}`);
    child.stderr.resume();
    return new Nginx(child, port, statusPort);
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGQUIT');
    await exited;
  }
}
