import {
  type ConfigDirectory,
  type ConfigFile,
  type ConfigFileOptions,
  fileIdentity,
  isFixedOutsideFile,
  readConfigDirectory,
  readConfigFile,
} from '../../system/config-files.ts';

/** A file that changed within this time may change again without a new timestamp. Nanoseconds. */
const settledAfterNs = 2_000_000_000n;

/** Reads configuration files and directories, and records what a cache of the result depends on. */
export class ConfigReader {
  /** Every file and directory that was read or refused, with its identity (`fileIdentity`). */
  readonly sources = new Map<string, string>();
  private newestNs = 0n;
  private transient = false;
  private readonly uid: number;

  /** @param uid the user, besides root, whose files are accepted */
  constructor(uid: number) {
    this.uid = uid;
  }

  /** @throws BerthError as `readConfigFile` */
  file(path: string, options: ConfigFileOptions = {}): ConfigFile {
    // A refused file is a source too: after the repair it has another identity.
    this.sources.set(path, fileIdentity(path));
    try {
      return this.record(path, readConfigFile(path, this.uid, options));
    } catch (error) {
      if (isFixedOutsideFile(error)) this.transient = true;
      throw error;
    }
  }

  /** The first path at which there is something, or the first of all. */
  firstPresent(paths: readonly [string, ...string[]]): string {
    for (const path of paths) {
      const identity = fileIdentity(path);
      this.sources.set(path, identity);
      if (identity !== 'absent') return path;
    }
    return paths[0];
  }

  /** @returns the names in it, sorted. @throws BerthError as `readConfigDirectory` */
  directory(path: string): readonly string[] {
    return this.record(path, readConfigDirectory(path, this.uid)).names;
  }

  /**
   * True if unchanged sources will give the same result again: no file has changed within the last two
   * seconds, and none failed to be read for a reason outside the file.
   *
   * @param nowMs milliseconds since the epoch
   */
  isSettled(nowMs: number): boolean {
    return !this.transient && this.newestNs + settledAfterNs < BigInt(nowMs) * 1_000_000n;
  }

  private record<T extends ConfigFile | ConfigDirectory>(path: string, read: T): T {
    this.sources.set(path, read.identity);
    if (read.changedNs > this.newestNs) this.newestNs = read.changedNs;
    return read;
  }
}
