import { directoryNames } from './if-present.ts';
import { propertiesOfUnits, startsAtBoot } from './systemd-units.ts';

/** A timer, and the last run of its service. Times are seconds since the epoch. */
export interface TimerState {
  /** Of timer and service, without suffix: `berth-reap`. */
  readonly name: string;
  readonly enabled: boolean;
  /** Whether it waits for its next time; if not, nothing starts the service. */
  readonly active: boolean;
  /** Whether the service runs now. */
  readonly running: boolean;
  /** When the service last ended, or was left out; undefined since the boot if never. */
  readonly lastRun?: number;
  /** systemd's word for how it ended: `success`, `exit-code`, `timeout`; `condition` if its conditions were not met. */
  readonly result?: string;
  /** Of the service's main process, if it ended by itself. */
  readonly exitStatus?: number;
  readonly nextRun?: number;
}

const unitDirectories = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];

const properties = [
  'Id',
  'LoadState',
  'ActiveState',
  'UnitFileState',
  'Result',
  'ConditionResult',
  'ConditionTimestampMonotonic',
  'NextElapseUSecRealtime',
  'NextElapseUSecMonotonic',
  'ExecMainStatus',
  'ExecMainCode',
  'InactiveEnterTimestampMonotonic',
];

/**
 * The installed timers with this prefix and the instances of their templates that run, from one `systemctl show`.
 *
 * @param nowMs milliseconds since the epoch
 * @throws {BerthError} `systemctl-failed`
 */
export async function timerStates(prefix: string, nowMs: number): Promise<readonly TimerState[]> {
  const installed = unitDirectories
    .flatMap(directoryNames)
    .filter((file) => file.startsWith(prefix))
    .flatMap((file) => /^(.*)\.timer$/.exec(file)?.[1] ?? []);
  // systemd loads units that are named; a pattern is for loaded ones, such as instances, wherever their files are.
  const names = [...new Set(installed)].filter((name) => !name.endsWith('@'));
  const wanted = [...names, `${prefix}*`].flatMap((name) => [`${name}.timer`, `${name}.service`]);
  const shown = await propertiesOfUnits(wanted, properties);
  const units = new Map(shown.map((unit) => [unit.get('Id') ?? '', unit]));
  // CLOCK_MONOTONIC, as systemd's.
  const bootMs = nowMs - Number(process.hrtime.bigint() / 1_000_000n);
  return [...units].flatMap(([id, timer]) => {
    const name = /^(.*)\.timer$/.exec(id)?.[1];
    if (name === undefined || timer.get('LoadState') !== 'loaded') return [];
    return [timerState(name, timer, units.get(`${name}.service`) ?? new Map(), bootMs)];
  });
}

type Unit = ReadonlyMap<string, string>;

function timerState(name: string, timer: Unit, service: Unit, bootMs: number): TimerState {
  const sinceBoot = (us: number): number | undefined =>
    us > 0 ? Math.floor((bootMs + us / 1000) / 1000) : undefined;
  const ended = Number(service.get('InactiveEnterTimestampMonotonic') ?? 0);
  const asked = Number(service.get('ConditionTimestampMonotonic') ?? 0);
  const isLeftOut = service.get('ConditionResult') === 'no' && asked > ended;
  const next = [
    Date.parse(timer.get('NextElapseUSecRealtime') ?? '') / 1000,
    sinceBoot(timeSpanUs(timer.get('NextElapseUSecMonotonic') ?? '')) ?? NaN,
  ].filter((time) => !Number.isNaN(time));
  const lastRun = sinceBoot(isLeftOut ? asked : ended);
  return {
    name,
    lastRun,
    enabled: startsAtBoot(timer.get('UnitFileState') ?? ''),
    active: timer.get('ActiveState') === 'active',
    running: ['activating', 'active'].includes(service.get('ActiveState') ?? ''),
    result: isLeftOut ? 'condition' : lastRun === undefined ? undefined : service.get('Result'),
    // CLD_EXITED
    exitStatus:
      service.get('ExecMainCode') === '1' ? Number(service.get('ExecMainStatus')) : undefined,
    nextRun: next.length === 0 ? undefined : Math.floor(Math.min(...next)),
  };
}

const spanUnits: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1e3,
  s: 1e6,
  min: 60e6,
  h: 3600e6,
  d: 86_400e6,
  w: 604_800e6,
  month: 2_629_800e6,
  y: 31_557_600e6,
};

/** `1d 2h 3min 4.5s`, as systemd prints a time span (format_timespan), in microseconds; 0 for none. */
function timeSpanUs(text: string): number {
  return [...text.matchAll(/([0-9.]+)([a-z]+)/g)]
    .map(([, count, unit = '']) => Number(count) * (spanUnits[unit] ?? 0))
    .reduce((sum, one) => sum + one, 0);
}
