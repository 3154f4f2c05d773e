import { kindsDirectory } from '../../config/schema/default-settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { runProgram } from '../../system/run-program.ts';
import { directoryNames } from '../../system/if-present.ts';
import { hasSystemd, startsAtBoot } from '../../system/systemd-units.ts';
import { isListenerUnit } from './drain-state.ts';

const pattern = 'berth-sshd@*.service';
const systemctl = '/usr/bin/systemctl';

/** Longer than systemd's own limit for a unit (DefaultTimeoutStartSec, 90 s). Milliseconds. */
const timeoutMs = 120_000;

/** A listener of sessions and its state. */
export interface ListenerUnit {
  readonly name: string;
  /** Running, starting, or about to be started again after a failure. */
  readonly active: boolean;
  /** As systemd says: `active`, `activating`, `inactive`, `failed`, … */
  readonly state: string;
  readonly enabled: boolean;
}

/**
 * All instances of berth-sshd@.service that run or have a configuration.
 *
 * @throws {BerthError} `systemd-missing`, `systemctl-failed`
 */
export async function listenerUnits(): Promise<readonly ListenerUnit[]> {
  if (!hasSystemd())
    throw new BerthError(
      'systemd-missing',
      'this host does not run systemd, which starts and stops the listeners',
    );
  const loaded = await run(['list-units', '--all', '--plain', '--no-legend', pattern]);
  const configured = directoryNames(kindsDirectory)
    .filter((name) => name.endsWith('.conf'))
    .map((name) => `berth-sshd@${name.slice(0, -'.conf'.length)}.service`);
  const names = [
    ...loaded.split('\n').map((line) => line.trim().split(/\s+/)[0] ?? ''),
    ...configured,
  ].filter(isListenerUnit);
  if (names.length === 0) return [];
  // list-unit-files does not list instances.
  const properties = '--property=Id,ActiveState,UnitFileState';
  const shown = await run(['show', properties, '--', ...new Set(names)]);
  return shown.split('\n\n').map(unitOf);
}

function unitOf(block: string): ListenerUnit {
  const property = (name: string): string =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(block)?.[1] ?? '';
  return {
    name: property('Id'),
    state: property('ActiveState'),
    // `activating`: it may be about to be started again after a failure.
    active: ['active', 'activating', 'reloading', 'deactivating'].includes(property('ActiveState')),
    enabled: startsAtBoot(property('UnitFileState')),
  };
}

/** Stops the listeners; their sessions go on (`KillMode=process`). @throws {BerthError} `systemctl-failed` */
export async function stopUnits(names: readonly string[]): Promise<void> {
  if (names.length > 0) await run(['stop', '--', ...names]);
}

/** Also after starts in a row that systemd counts as too many. @throws {BerthError} `systemctl-failed` */
export async function startUnits(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  // Fails for units that are not loaded, which have nothing to reset.
  await run(['reset-failed', '--', ...names]).catch(() => '');
  await run(['start', '--', ...names]);
}

async function run(args: readonly string[]): Promise<string> {
  const { error, stdout, stderr } = await runProgram(systemctl, ['--no-pager', ...args], {
    timeoutMs,
  });
  if (error === undefined) return stdout;
  const words = args.filter((word) => !word.startsWith('--')).join(' ');
  const said = stderr.trim().split('\n')[0] ?? '';
  throw new BerthError(
    'systemctl-failed',
    `systemctl ${words} failed: ${said === '' ? error.message : said}`,
    {
      hint: `Look at \`systemctl status '${pattern}'\`, then run the same command again: it continues.`,
      cause: error,
    },
  );
}
