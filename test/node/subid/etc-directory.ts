import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { publicDirectory } from '../../rig/site/directories.ts';
import { installDirectory } from '../../rig/site/portal.ts';

export const berth = join(installDirectory, 'berth');

export interface Person {
  readonly name: string;
  readonly uid: number;
  /** GIDs of supplementary groups, each called `gGID`. */
  readonly groups?: readonly number[];
}

export interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A root directory with the files of accounts and subordinate IDs in its `etc`; not the machine's own. */
export class EtcDirectory {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async make(people: readonly Person[] = []): Promise<EtcDirectory> {
    await mkdir(publicDirectory, { recursive: true });
    const directory = new EtcDirectory(await mkdtemp(join(publicDirectory, 'etc-')));
    await chmod(directory.root, 0o755);
    await mkdir(directory.path('etc'));
    await directory.people(people);
    return directory;
  }

  path(...parts: string[]): string {
    return join(this.root, ...parts);
  }

  /** Accounts, beside those that NSS needs to work at all. */
  async people(people: readonly Person[]): Promise<void> {
    const system = 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n';
    const accounts = people.map(({ name, uid }) => `${name}:x:${uid}:${uid}::/:/bin/sh\n`);
    const members = new Map<number, string[]>();
    for (const { name, groups = [] } of people)
      for (const gid of groups) members.set(gid, [...(members.get(gid) ?? []), name]);
    const groups = [
      'root:x:0:\nnogroup:x:65534:\n',
      ...people.map(({ name, uid }) => `${name}:x:${uid}:\n`),
      ...[...members].map(([gid, names]) => `g${gid}:x:${gid}:${names.join(',')}\n`),
    ];
    await writeFile(this.path('etc/passwd'), [system, ...accounts].join(''));
    await writeFile(this.path('etc/group'), groups.join(''));
  }

  write(file: string, contents: string | Uint8Array): Promise<void> {
    return writeFile(this.path('etc', file), contents);
  }

  read(file: string): Promise<string> {
    return readFile(this.path('etc', file), 'latin1');
  }

  /** What lies in `etc` beside the files that belong there. */
  async leftovers(): Promise<string[]> {
    const known = /^(?:passwd|group|sub[ug]id-?)$/;
    return (await readdir(this.path('etc'))).filter((name) => !known.test(name));
  }

  async subid(verb: 'plan' | 'apply', ...args: string[]): Promise<Answer> {
    const words = ['subid', verb, '--prefix', this.root, ...args];
    const {
      exitCode = -1,
      stdout,
      stderr,
    } = await execa(berth, words, {
      reject: false,
      input: '',
      stripFinalNewline: false,
      maxBuffer: 2 ** 30,
    });
    return { exitCode, stdout, stderr };
  }

  /**
   * Runs a script as this person on a machine that has these files for its own, in a mount and a PID
   * namespace: the real newuidmap and podman read /etc, and nothing of theirs stays.
   */
  async as({ uid }: Person, script: string): Promise<Answer> {
    for (const name of ['home', 'run']) {
      await mkdir(this.path(name), { recursive: true, mode: 0o700 });
      await chown(this.path(name), uid, uid);
    }
    await mkdir(this.path('work'), { recursive: true });
    const enter = [
      'set -e',
      // The whole directory: a mount on /etc/passwd alone is gone when useradd renames the machine's own.
      'mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/work" /etc',
      'cd /',
      'exec setpriv --reuid "$2" --regid "$2" --init-groups env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$1/home" XDG_RUNTIME_DIR="$1/run" sh -c "$3"',
    ].join('\n');
    const {
      exitCode = -1,
      stdout,
      stderr,
    } = await execa(
      'unshare',
      [
        ...['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=private'],
        ...['sh', '-c', enter, 'sh', this.root, String(uid), script],
      ],
      { reject: false, stdin: 'ignore', timeout: 30_000 },
    );
    return { exitCode, stdout, stderr };
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }
}
