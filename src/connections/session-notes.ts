import { appendFileSync, mkdirSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backends, type SshSettings } from '../config/schema/profile/profile.ts';
import { BerthError, isErrno } from '../errors/berth-error.ts';
import { type ErrorCode, isErrorCode } from '../errors/error-codes.ts';
import type { User } from '../identity/nss.ts';
import { asUserThenRoot } from '../system/as-user.ts';
import { readUserFile } from '../system/user-file.ts';
import { findRuntimeDir } from './runtime-dir.ts';

/** What a login says of its session: that it began, how it ended, or why it did not begin. */
export type SessionNote =
  | { readonly profile: string; readonly backend: string; readonly start_ms: number }
  | { readonly exit: number }
  | { readonly code: ErrorCode };

/** What the logins of a connection said. */
export interface NotedSessions {
  readonly started: readonly {
    readonly profile: string;
    readonly backend: string;
    /** Milliseconds from the start of the login until the shell or command was started. */
    readonly start_ms: number;
  }[];
  /** Codes of those that did not start. */
  readonly failed: readonly ErrorCode[];
  /** Exit status of the last that Berth relayed. */
  readonly exit?: number;
}

/** Thousands of sessions of one connection; of more, none is counted. Bytes. */
const mostOfNotes = 256 * 1024;

/** Sessions of one connection that are counted, so that no user fills root's spool. */
const mostCounted = 100;

/** A week: a job of Slurm may start days later. Milliseconds. */
const longestStart = 604_800_000;

function notesPath(runtimeDir: string, connection: string): string {
  return `${runtimeDir}/berth/sessions.${connection}`;
}

/** The user's part: a note for root, who reads it when the connection closes. What fails here fails no session. */
export function noteSession(runtimeDir: string, connection: string, note: SessionNote): void {
  const path = notesPath(runtimeDir, connection);
  const append = (): void => {
    appendFileSync(path, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  };
  try {
    append();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) return;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      append();
    } catch {
      // The directory of the user is full, or gone.
    }
  }
}

/**
 * Root's part: reads and removes the notes with the user's rights. They are the user's word: anything may be in them, so
 * only names and codes that root knows count.
 */
export async function takeSessionNotes(
  { profiles }: Pick<SshSettings, 'profiles'>,
  user: User,
  connection: string,
): Promise<NotedSessions> {
  const runtimeDir = findRuntimeDir(user);
  if (runtimeDir === undefined) return noSessions;
  const path = notesPath(runtimeDir, connection);
  try {
    const bytes = await asUserThenRoot(user, async () => {
      try {
        return await readUserFile(path, { uid: user.uid, maximumBytes: mostOfNotes });
      } finally {
        // Whatever it is; a directory stays, for the user.
        await unlink(path).catch(() => undefined);
      }
    });
    return bytes === undefined ? noSessions : parseNotes(bytes.toString('utf8'), profiles);
  } catch (error) {
    if (error instanceof BerthError || isErrno(error)) return noSessions;
    throw error;
  }
}

const noSessions: NotedSessions = { started: [], failed: [] };

/** @param profiles those that there are */
function parseNotes(
  text: string,
  profiles: { readonly has: (name: string) => boolean },
): NotedSessions {
  const started: NotedSessions['started'][number][] = [];
  const failed: ErrorCode[] = [];
  let exit: number | undefined;
  for (const line of text.split('\n')) {
    const note = parsed(line);
    const { profile, backend, start_ms: startMs, code } = note;
    if (typeof profile === 'string' && profiles.has(profile) && isBackend(backend)) {
      if (isWithin(startMs, longestStart)) started.push({ profile, backend, start_ms: startMs });
    } else if (isErrorCode(code)) failed.push(code);
    else if (isWithin(note.exit, 255)) exit = note.exit;
  }
  return {
    started: started.slice(0, mostCounted),
    failed: failed.slice(0, mostCounted),
    ...(exit === undefined ? {} : { exit }),
  };
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isBackend(value: unknown): value is (typeof backends)[number] {
  return (backends as readonly unknown[]).includes(value);
}

function isWithin(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;
}
