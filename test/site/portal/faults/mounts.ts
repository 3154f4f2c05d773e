import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, open, readFile, rm } from 'node:fs/promises';
import { execa } from 'execa';
import type { Account } from '../../../rig/site/accounts.ts';
import { ensurePackages } from '../../../rig/site/debian-packages.ts';
import { waitFor } from '../../../rig/wait-for.ts';

/** File systems that a test mounts. `remove` unmounts all, also after a failure. */
export class Mounts {
  readonly #undo: (() => Promise<unknown>)[] = [];

  /** Registers something to undo with the mounts, last first. */
  defer(undo: () => Promise<unknown>): void {
    this.#undo.push(undo);
  }

  /** Mounts an empty file system of this size over the account's home. */
  async tmpfs(
    { home, uid, gid }: Pick<Account, 'home' | 'uid' | 'gid'>,
    size: string,
  ): Promise<void> {
    const options = `size=${size},mode=0700,uid=${uid},gid=${gid}`;
    await execa('mount', ['-t', 'tmpfs', '-o', options, 'berth-test', home]);
    this.defer(() => execa('umount', ['--lazy', home]));
  }

  async readOnly(path: string): Promise<void> {
    await execa('mount', ['-o', 'remount,ro', path]);
  }

  /** Writes until the file system is full. */
  async fill(path: string): Promise<void> {
    const file = await open(path, 'w');
    try {
      for (;;) await file.write(Buffer.alloc(1024));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    } finally {
      await file.close();
    }
  }

  /** Serves the account's home by a FUSE daemon. If that is stopped, the home hangs as with NFS. */
  async bindfs({ home, uid, gid }: Account, behind: string): Promise<{ stop(): void; go(): void }> {
    await ensurePackages(['bindfs']);
    await mkdir(behind, { recursive: true, mode: 0o700 });
    await chown(behind, uid, gid);
    const daemon = spawn('bindfs', ['-f', behind, home], {
      stdio: 'ignore',
    });
    this.defer(async () => {
      await end(daemon);
      await execa('umount', ['--lazy', home], { reject: false });
      await rm(behind, { recursive: true });
    });
    await waitFor({ what: `bindfs on ${home}`, timeoutMs: 5_000, everyMs: 20 }, async () =>
      (await readFile('/proc/mounts', 'utf8')).includes(` ${home} fuse`) ? true : undefined,
    );
    return { stop: () => daemon.kill('SIGSTOP'), go: () => daemon.kill('SIGCONT') };
  }

  async remove(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) await undo();
  }
}

/** SIGKILL ends a stopped process, too; its file system then returns errors. */
async function end(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, 'exit');
  daemon.kill('SIGKILL');
  await ended;
}
