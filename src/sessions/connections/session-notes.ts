import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type Backend,
  backends,
  type Profile,
  type SshSettings,
} from '../../config/schema/profile/profile.ts';
import { isErrno } from '../../system/errors/berth-error.ts';
import { type ErrorCode, isErrorCode } from '../../system/errors/error-codes.ts';
import type { User } from '../../system/identity/nss.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { ifUsable, readOnMount, unlinkOnMount } from '../../system/user-file.ts';
import { findRuntimeDir, notesDirectory } from './runtime-dir.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

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

function notesFile(connection: string): string {
  return `sessions.${connection}`;
}

/** The profile of a session of a connection, and its backend. */
export interface NotedProfile {
  readonly profile: string;
  readonly backend: Backend;
}

/** Each profile is noted once. */
function profilesFile(connection: string): string {
  return `profiles.${connection}`;
}

/** Where the logins of a connection note their profiles. */
export function profilesPath(runtimeDir: string, connection: string): string {
  return `${runtimeDir}/${notesDirectory}/${profilesFile(connection)}`;
}

/** The user's part: a note for root, who reads it when the connection closes. What fails here fails no session. */
export function noteSession(runtimeDir: string, connection: string, note: SessionNote): void {
  append(`${runtimeDir}/${notesDirectory}/${notesFile(connection)}`, note);
}

/** The user's part, before a session starts: for root, who asks who is on. What fails here fails no session. */
export function noteProfile(
  runtimeDir: string,
  connection: string,
  { name: profile, backend }: Profile,
): void {
  const path = profilesPath(runtimeDir, connection);
  const note: NotedProfile = { profile, backend };
  try {
    if (readFileSync(path, 'utf8').includes(JSON.stringify(note))) return;
  } catch {
    // The first session of the connection.
  }
  append(path, note);
}

function append(path: string, note: SessionNote | NotedProfile): void {
  const write = (): void => {
    appendFileSync(path, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  };
  try {
    write();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) return;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      write();
    } catch {
      // The directory of the user is full, or gone.
    }
  }
}

/**
 * Root's part: reads and removes the notes, without a look at what the user has mounted. They are the user's word: anything may
 * be in them, so only names and codes that root knows count.
 */
export function takeSessionNotes(
  { profiles }: Pick<SshSettings, 'profiles'>,
  user: User,
  connection: string,
): NotedSessions {
  const runtimeDir = findRuntimeDir(user);
  if (runtimeDir === undefined) return noSessions;
  const notes = notesFile(connection);
  const demands = { uid: user.uid, maximumBytes: mostOfNotes };
  const bytes = ifUsable(() => readOnMount(runtimeDir, [notesDirectory, notes], demands));
  // Whatever it is; a directory stays, for the user.
  unlinkOnMount(runtimeDir, [notesDirectory], [notes, profilesFile(connection)]);
  return bytes === undefined ? noSessions : parseNotes(bytes.toString('utf8'), profiles);
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
    const note = mappingOrEmpty(parsedJson(line));
    const { profile, backend, start_ms: startMs, code } = note;
    if (typeof profile === 'string' && profiles.has(profile) && isBackend(backend)) {
      if (isWithin(startMs, longestStart)) started.push({ profile, backend, start_ms: startMs });
    } else if (isErrorCode(code)) failed.push(code);
    else if (isWithin(note.exit, 255)) exit = note.exit;
  }
  return {
    started: started.slice(0, mostCounted),
    failed: failed.slice(0, mostCounted),
    exit,
  };
}

/** The profiles in the text of such a file, the oldest first. It is the user's word. */
export function parseProfiles(text: string): readonly NotedProfile[] {
  return text.split('\n').flatMap((line) => {
    const { profile, backend } = mappingOrEmpty(parsedJson(line));
    return typeof profile === 'string' && isBackend(backend) ? [{ profile, backend }] : [];
  });
}

function isBackend(value: unknown): value is (typeof backends)[number] {
  return (backends as readonly unknown[]).includes(value);
}

function isWithin(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;
}
