import { rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { notesDirectory } from '../connections/runtime-dir.ts';
import { expectErrno } from '../../system/errors/berth-error.ts';
import type { SessionHost } from '../request/session-host.ts';
import { ifUsable, namesOnMount, readOnMount } from '../../system/user-file.ts';
import { containerFilesDir } from './podman/running-container.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';

/**
 * What a login says of its session in a pod or a job, for the reaper, which sees no more than its connection. The user can
 * write it, and so change no more than when the own sessions are told of their end, and end without use.
 */
export interface LimitNote {
  /** ID of the connection. */
  readonly connection: string;
  readonly profile: string;
  /** `pod berth-gpu`, `job 4711`. */
  readonly place: string;
  /** When it ends, whoever is connected. Milliseconds since the epoch. */
  readonly endsAt?: number | undefined;
}

const prefix = 'limits-';

/**
 * Writes the note of this process. The file name contains the connection's ID, so the connection's cleanup removes it. Without it, the session only lacks
 * warnings, so an error of the file system is ignored.
 *
 * @returns what removes it
 */
export async function writeLimitNote(
  { runtimeDir, connection }: Pick<SessionHost, 'runtimeDir' | 'connection'>,
  note: Omit<LimitNote, 'connection'>,
): Promise<() => void> {
  const directory = containerFilesDir(runtimeDir);
  const path = `${directory}/${prefix}${connection ?? '0.0'}.${process.pid}`;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    writeFileSync(path, JSON.stringify(note), { mode: 0o600 });
  } catch (error) {
    expectErrno(error);
  }
  return () => rmSync(path, { force: true });
}

/** A user has some dozen connections. */
const mostFiles = 1_000;
const longestNote = 1024;

/** The notes of a user's logins. Call it with the user's rights. Files that are no notes are left out. */
export function readLimitNotes(runtimeDir: string, uid: number): readonly LimitNote[] {
  const names = ifUsable(() => namesOnMount(runtimeDir, [notesDirectory], mostFiles)) ?? [];
  return names
    .filter((name) => name.startsWith(prefix))
    .flatMap((name) => {
      const demands = { uid, maximumBytes: longestNote };
      const text = ifUsable(() => readOnMount(runtimeDir, [notesDirectory, name], demands));
      return parseLimitNote(name, text?.toString('utf8') ?? '') ?? [];
    });
}

/** Parses a note. Its text goes to a terminal, so names must be names. @returns undefined if the text is no note */
export function parseLimitNote(name: string, text: string): LimitNote | undefined {
  const [, connection] = /^limits-([0-9]+\.[0-9]+)\.[0-9]+$/.exec(name) ?? [];
  const { profile, place, endsAt } = mappingOrEmpty(parsedJson(text));
  if (connection === undefined || typeof profile !== 'string') return undefined;
  if (typeof place !== 'string' || !/^(?:pod|job) [a-z0-9.-]{1,253}$/.test(place)) return undefined;
  const ends = typeof endsAt === 'number' && Number.isFinite(endsAt) ? endsAt : undefined;
  return { connection, profile, place, endsAt: ends };
}
