import { drainFile } from '../../config/schema/default-settings.ts';
import { readUserFileSync } from '../../system/user-file.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

/** A listener of sessions, `berth-sshd@NAME.service`, as the drain found it. */
export interface DrainedUnit {
  readonly name: string;
  /** Whether it was running, so that the drain stopped it. */
  readonly stopped: boolean;
  /** Whether it starts at boot. */
  readonly enabled: boolean;
}

/** Why a node takes no new sessions, and what makes it take them again. */
export interface DrainState {
  /** Seconds since the epoch; 0 for a file that an admin made by hand. */
  readonly since: number;
  readonly by: string;
  readonly reason: string;
  readonly units: readonly DrainedUnit[];
  /** When what is left is ended. Seconds since the epoch. */
  readonly deadline?: number;
}

/** Where a drain is recorded. While `drain` exists, systemd starts no listener of sessions on this node. */
export interface DrainFiles {
  readonly drain: string;
  /** What an undrain has begun and not completed. */
  readonly undo: string;
}

export const drainFiles: DrainFiles = {
  drain: drainFile,
  undo: `${drainFile}.undo`,
};

const mostBytes = 64 * 1024;

/**
 * Reads a record. Contents that Berth did not write, such as an empty file of an admin's `touch`, count as a drain
 * without units.
 *
 * @returns undefined if there is no such file
 * @throws {BerthError} `user-file-unsafe` if it is not a file of root's, `user-file-too-large`, `user-file-unreadable`
 */
export function readDrainState(file: string): DrainState | undefined {
  const text = readUserFileSync(file, { uid: 0, maximumBytes: mostBytes })?.toString('utf8');
  if (text === undefined) return undefined;
  return stateOf(parsedJson(text));
}

function stateOf(value: unknown): DrainState {
  const { since, by, reason, units, deadline } = (value ?? {}) as Record<string, unknown>;
  return {
    since: typeof since === 'number' ? since : 0,
    by: typeof by === 'string' ? by : '',
    reason: typeof reason === 'string' ? reason : '',
    units: Array.isArray(units) ? units.flatMap(unitOf) : [],
    ...(typeof deadline === 'number' && { deadline }),
  };
}

function unitOf(value: unknown): DrainedUnit[] {
  const { name, stopped, enabled } = (value ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !isListenerUnit(name)) return [];
  return [{ name, stopped: stopped === true, enabled: enabled === true }];
}

/** Whether it is one of `berth-sshd@.service`'s. */
export function isListenerUnit(name: string): boolean {
  return /^berth-sshd@[A-Za-z0-9:_.\\-]+\.service$/.test(name);
}

/** Synced to disk: the node stays drained after a power failure. @throws {BerthError} as `writeAtomically` */
export async function writeDrainState(file: string, state: DrainState): Promise<void> {
  await writeAtomically(file, `${JSON.stringify({ version: 1, ...state }, null, 2)}\n`, {
    mode: 0o644,
  });
}
