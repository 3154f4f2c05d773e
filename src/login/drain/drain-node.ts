import { rename, rm } from 'node:fs/promises';
import { BerthError } from '../../system/errors/berth-error.ts';
import { takeLock } from '../../system/file-lock.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import {
  drainFiles,
  readDrainState,
  writeDrainState,
  type DrainedUnit,
  type DrainState,
} from './drain-state.ts';
import { type ListenerUnit, listenerUnits, startUnits, stopUnits } from './listener-units.ts';

export interface DrainInput {
  /** `/run/berth` */
  readonly run: string;
  readonly by: string;
  readonly reason: string;
  /** Seconds since the epoch. */
  readonly now: number;
  /** When what is left will be ended. Seconds since the epoch. */
  readonly deadline?: number;
}

/** How long to wait for another drain or undrain. Milliseconds. */
const lockMs = 3_000;

/**
 * Stops the listeners of sessions on this node and keeps them stopped, also after a reboot. Open sessions go on.
 *
 * The record is written first: a drain that is interrupted is completed by the next one, and undone by `undrainNode`.
 *
 * @throws {BerthError} `systemd-missing`, `listeners-missing`, `systemctl-failed`, `lock-timeout`, the errors of
 *   `writeAtomically`
 */
export async function drainNode(input: DrainInput): Promise<DrainState> {
  return await withDrainLock(input.run, async () => {
    const { state, running } = await planDrain(input);
    await writeDrainState(drainFiles.drain, state);
    await rm(drainFiles.undo, { force: true });
    await stopUnits(running);
    return state;
  });
}

/**
 * What `drainNode` would write, and the listeners that it would stop. Changes nothing.
 *
 * @throws {BerthError} `systemd-missing`, `listeners-missing`, `systemctl-failed`
 */
export async function planDrain({ now, by, reason, deadline }: Omit<DrainInput, 'run'>): Promise<{
  readonly state: DrainState;
  readonly running: readonly string[];
}> {
  const units = await listenerUnits();
  const before = readDrainState(drainFiles.drain);
  const undoing = readDrainState(drainFiles.undo);
  const byHand = before !== undefined && isByHand(before);
  const found = units
    .filter(({ active, enabled }) => active || enabled)
    .map(({ name, active, enabled }) => ({ name, enabled, stopped: active || byHand }));
  const known = merged([...(before?.units ?? []), ...(undoing?.units ?? []), ...found]);
  if (known.length === 0)
    throw new BerthError(
      'listeners-missing',
      'there is no listener to stop: no berth-sshd@ unit runs or is enabled',
    );
  const state: DrainState = {
    since: before !== undefined && before.since > 0 ? before.since : now,
    by,
    reason: reason === '' ? (before?.reason ?? '') : reason,
    units: known,
    deadline,
  };
  return { state, running: units.flatMap(({ name, active }) => (active ? [name] : [])) };
}

export interface Undrained {
  /** Whether there was anything to undo. */
  readonly wasDrained: boolean;
  readonly started: readonly string[];
  /** Units that were disabled or masked since the drain, and are not started. */
  readonly skipped: readonly string[];
}

/**
 * Starts the listeners again that the drain stopped, except those that were disabled since. If it is interrupted, the next
 * one continues: systemd starts no listener while the record of the drain exists, so that is renamed first.
 *
 * @throws {BerthError} `systemd-missing`, `systemctl-failed`, `lock-timeout`
 */
export async function undrainNode({ run }: Pick<DrainInput, 'run'>): Promise<Undrained> {
  return await withDrainLock(run, async () => {
    const { state, ...undrained } = await planUndrain();
    const { drain, undo } = drainFiles;
    if (state === undefined) return undrained;
    if (readDrainState(undo) === undefined) await rename(drain, undo);
    else {
      await writeDrainState(undo, state);
      await rm(drain, { force: true });
    }
    await startUnits(undrained.started);
    await assertRunning(undrained.started);
    await rm(undo, { force: true });
    return undrained;
  });
}

/**
 * What `undrainNode` would do, and the record of the drain. Changes nothing.
 *
 * @throws {BerthError} `systemd-missing`, `systemctl-failed`
 */
export async function planUndrain(): Promise<Undrained & { readonly state?: DrainState }> {
  const [drained, undoing] = [drainFiles.drain, drainFiles.undo].map(readDrainState);
  const latest = drained ?? undoing;
  if (latest === undefined) return { wasDrained: false, started: [], skipped: [] };
  const units = merged([...(undoing?.units ?? []), ...(drained?.units ?? [])]);
  const state = { ...latest, units };
  const now = await listenerUnits();
  const stopped = unitsToStart(state, now);
  const isDisabled = ({ name, enabled }: DrainedUnit): boolean =>
    enabled && now.find((unit) => unit.name === name)?.enabled !== true;
  const namesOf = (some: readonly DrainedUnit[]): string[] => some.map(({ name }) => name);
  return {
    wasDrained: true,
    state,
    started: namesOf(stopped.filter((unit) => !isDisabled(unit))),
    skipped: namesOf(stopped.filter(isDisabled)),
  };
}

/** Whether Berth did not write it, but an admin or a playbook: it names no units. */
function isByHand({ since, units }: DrainState): boolean {
  return since === 0 && units.length === 0;
}

/** After a drain by hand, the units that would start at boot. */
function unitsToStart(state: DrainState, now: readonly ListenerUnit[]): readonly DrainedUnit[] {
  if (!isByHand(state)) return state.units.filter((unit) => unit.stopped);
  return now
    .filter((unit) => unit.enabled)
    .map(({ name, enabled }) => ({ name, enabled, stopped: true }));
}

/** A unit whose condition is not met counts as started for systemctl. */
async function assertRunning(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const active = (await listenerUnits()).filter((unit) => unit.active).map(({ name }) => name);
  const missing = names.filter((name) => !active.includes(name));
  if (missing.length === 0) return;
  throw new BerthError(
    'listener-not-started',
    `not running after the start: ${missing.join(', ')}`,
    {
      hint: `See \`systemctl status ${missing[0] ?? ''}\`, correct what it says, and run \`berth node undrain\` again: it continues.`,
    },
  );
}

/** One entry for each unit: it was stopped if any record says so. */
function merged(units: readonly DrainedUnit[]): readonly DrainedUnit[] {
  const byName = new Map<string, DrainedUnit>();
  for (const unit of units) {
    const { name, stopped } = unit;
    const other = byName.get(name);
    byName.set(name, {
      name,
      stopped: stopped || other?.stopped === true,
      enabled: unit.enabled || other?.enabled === true,
    });
  }
  return [...byName.values()];
}

async function withDrainLock<T>(run: string, work: () => Promise<T>): Promise<T> {
  ensureRootDirectory(run);
  const lock = await takeLock(`${run}/drain.lock`, { timeoutMs: lockMs, foreignStaleMs: 600_000 });
  try {
    return await work();
  } finally {
    await lock?.release();
  }
}
