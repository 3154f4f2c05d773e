import { chmod, copyFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { compileEntryPoint } from '../compile-entry-point.ts';
import { BootedSystem } from '../systemd/booted-system.ts';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;
const init = new URL('../systemd/own-units-init.sh', import.meta.url).pathname;

/** The account of the hub, and the group of the socket; both exist on this host only. */
const hub = { uid: 61_022, group: 61_024 };

export interface HubUnitOptions {
  /** Path of berth.yml; default: one without clusters. */
  readonly config?: string;
  /** Further lines of the default one. */
  readonly berth?: string;
  /** What the hook writes besides. */
  readonly writable?: readonly string[];
  /** UIDs of further accounts that exist on this host only, by name. */
  readonly users?: Readonly<Record<string, number>>;
  /** Lines of /etc/group. */
  readonly groups?: readonly string[];
  /** Path of the built hub-bootstrap; default: this checkout's is built. */
  readonly program?: string;
  /** GID of a hub outside of this host, which connects to `socket`. */
  readonly outsideGroup?: number;
}

/** A host with systemd and berth-hub.socket of etc/systemd, whose program and configuration are the test's. */
export class HubUnitHost {
  readonly directory: string;
  readonly #system: BootedSystem;

  private constructor(system: BootedSystem) {
    this.directory = system.directory;
    this.#system = system;
  }

  static async boot({
    config,
    berth = '',
    writable = [],
    users = {},
    groups = [],
    program: given,
    outsideGroup,
  }: HubUnitOptions = {}) {
    const directory = await mkdtemp(join(tmpdir(), 'berth-hub-unit-'));
    await chmod(directory, 0o755);
    for (const name of ['etc', 'work', 'units/berth-hub@.service.d', 'clusters.d'])
      await mkdir(join(directory, name), { recursive: true });
    for (const name of ['berth-hub.socket', 'berth-hub@.service', 'berth-hub.slice'])
      await copyFile(join(etc, name), join(directory, 'units', name));
    for (const name of ['portal', 'sysinit', 'basic', 'shutdown', 'sockets'])
      await writeFile(join(directory, `units/${name}.target`), '[Unit]\nDefaultDependencies=no\n');
    const own = join(directory, 'berth.yml');
    await writeFile(
      own,
      `state_dir: ${directory}/state\nhook_env: null\nclusters_dir: ${directory}/clusters.d\n${berth}`,
    );
    const program = given ?? (await compileEntryPoint('hooks/hub-bootstrap.ts', directory));
    const dropIn = [
      ...['[Service]', 'ExecStart=', `ExecStart=${program} --config ${config ?? own}`],
      ...['PrivateTmp=no', `ReadWritePaths=${[directory, ...writable].join(' ')}`],
      ...[`StandardError=append:${directory}/log`, ''],
    ];
    await writeFile(join(directory, 'units/berth-hub@.service.d/test.conf'), dropIn.join('\n'));
    if (outsideGroup !== undefined) {
      const lines = [`ListenStream=${directory}/hub.sock`, `SocketGroup=${outsideGroup}`];
      await mkdir(join(directory, 'units/berth-hub.socket.d'));
      await writeFile(
        join(directory, 'units/berth-hub.socket.d/outside.conf'),
        ['[Socket]', ...lines, ''].join('\n'),
      );
    }
    const people = Object.entries({ ...users, 'hub-itself': hub.uid });
    const lines = {
      passwd: people.map(([name, uid]) => `${name}:x:${uid}:${uid}::/:/bin/sh`),
      group: [
        ...people.map(([name, uid]) => `${name}:x:${uid}:`),
        ...[`jupyterhub:x:${hub.group}:hub-itself`, ...groups],
      ],
    };
    for (const [name, more] of Object.entries(lines)) {
      const text = await readFile(`/etc/${name}`, 'utf8');
      await writeFile(join(directory, 'etc', name), `${text}${more.join('\n')}\n`, { mode: 0o644 });
    }
    const ready = { command: ['is-active', 'portal.target'], answer: /^active/ };
    const host = new HubUnitHost(await BootedSystem.boot({ init, directory, ready }));
    const { stderr } = await host.#system.run(['systemctl', 'start', 'berth-hub.socket']);
    if (stderr !== '') throw new Error(stderr);
    return host;
  }

  /** Path of the socket for a hub outside of this host. */
  get socket(): string {
    return join(this.directory, 'hub.sock');
  }

  /** What hub-bootstrap has logged. */
  log(): Promise<string> {
    return readFile(join(this.directory, 'log'), 'utf8').catch(() => '');
  }

  /** The answer to a line of the hub. @param uid of another account that connects */
  async answer(line: string, uid?: number): Promise<unknown> {
    const [own, groups] = uid === undefined ? [hub.uid, hub.group] : [uid, uid];
    const ids = [`--reuid=${own}`, `--regid=${own}`, `--groups=${groups}`];
    const argv = ['setpriv', ...ids, process.execPath, '-e', ask, `${line}\n`];
    const [file = '', ...words] = this.#system.enter(argv, ['--mount', '--pid', '--wd=/']);
    const { stdout } = await execa(file, words);
    const [text = ''] = stdout.split('\n');
    return text.startsWith('{') ? JSON.parse(text) : text;
  }

  stop(): Promise<void> {
    return this.#system.stop();
  }
}

const ask = `const connection = require('node:net').connect('/run/berth/hub.sock');
  connection.on('error', ({ code }) => console.log(code)).pipe(process.stdout);
  connection.write(process.argv[1]);`;
