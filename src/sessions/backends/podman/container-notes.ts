import { lstatSync, mkdirSync, readdirSync, utimesSync, writeSync } from 'node:fs';
import { expectErrno } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import { writeStateFile } from '../../../system/private-file.ts';
import { ifUsable, readUserFileSync } from '../../../system/user-file.ts';
import { parsedJson } from '../../../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../../../system/text/mapping.ts';

/**
 * Notes for the user's logins on other login nodes: which container runs here. A file for each node and profile in the
 * home, which the nodes share, so no lock is needed. The user's own processes write and read them; root reads none.
 */
export interface ContainerNote {
  /** Host name of the login node. */
  readonly host: string;
  readonly profile: string;
  /** When the container started, in milliseconds since the epoch. */
  readonly since: number;
  /** The port of the sshd that started it, if it is known. */
  readonly port?: number;
}

type Owner = Pick<User, 'home' | 'uid'>;

function notesDir({ home }: Pick<User, 'home'>): string {
  return `${home}/.local/state/berth/containers`;
}

/** Path of the note about a profile's container on a login node. */
export function containerNotePath(
  user: Pick<User, 'home'>,
  { host, profile }: Pick<ContainerNote, 'host' | 'profile'>,
): string {
  return `${notesDir(user)}/${host}.${profile}.json`;
}

/** Writes the note about a container that was just started. An error is ignored: the session does not depend on it. */
export function writeContainerNote(user: Owner, note: ContainerNote): void {
  const path = containerNotePath(user, note);
  try {
    mkdirSync(notesDir(user), { recursive: true, mode: 0o700 });
    writeStateFile(path, `${JSON.stringify(note)}\n`, 0o600);
  } catch (error) {
    expectErrno(error);
  }
}

/** A note is valid for so long after the last interactive login on its node: the node may have failed. Milliseconds. */
const validMs = 7 * 24 * 3600_000;

/** A user has a few login nodes and profiles. */
const mostNotes = 64;
const longestNote = 1024;

/**
 * Tells the user on the terminal where else containers of this profile run, and renews the note about the one here.
 *
 * @param here the host name and the profile of this session
 * @param now milliseconds since the epoch
 */
export function tellOtherContainers(
  user: Owner,
  here: Pick<ContainerNote, 'host' | 'profile'>,
  now: number,
): void {
  try {
    const own = containerNotePath(user, here);
    for (const name of readdirSync(notesDir(user)).slice(0, mostNotes)) {
      const path = `${notesDir(user)}/${name}`;
      if (path === own) utimesSync(path, now / 1000, now / 1000);
      else {
        const note = readNote(path, user, now);
        if (note?.profile === here.profile && note.host !== here.host)
          writeSync(2, `${noteText(note)}\n`);
      }
    }
  } catch (error) {
    // There are none, or the home is not available.
    expectErrno(error);
  }
}

/** @returns undefined if it is none, or too old */
function readNote(path: string, { uid }: Owner, now: number): ContainerNote | undefined {
  return ifUsable(() => {
    if (lstatSync(path).mtimeMs + validMs < now) return undefined;
    const text = readUserFileSync(path, { uid, maximumBytes: longestNote });
    return parseNote(text?.toString('utf8') ?? '');
  });
}

/** Parses a note. Its text goes to a terminal, so names must be names. @returns undefined if the text is no note */
export function parseNote(text: string): ContainerNote | undefined {
  const { host, profile, since, port } = mappingOrEmpty(parsedJson(text));
  if (typeof host !== 'string' || !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$/.test(host))
    return undefined;
  if (typeof profile !== 'string' || !/^[a-z0-9-]{1,63}$/.test(profile)) return undefined;
  if (typeof since !== 'number' || !(since > 0 && since < 8e15)) return undefined;
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
  return { host, profile, since, ...(isPort && { port }) };
}

/** The line for the user, with the time in the time zone of this node. */
export function noteText({ host, profile, since, port = 22 }: ContainerNote): string {
  // The Swedish format is that of ISO 8601.
  const time = new Date(since).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
  return `you also have a container (profile ${profile}) on ${host}, since ${time}; to get there: ssh ${port === 22 ? '' : `-p ${port} `}${host}`;
}
