import { batchSchema } from '../../../../config/schema/profile/batch-fields.ts';
import { batchWords } from '../../../../config/schema/profile/batch-words.ts';
import type { Profile } from '../../../../config/schema/profile/profile.ts';
import { cpus, size } from '../../../../config/schema/profile/quantities.ts';
import { duration } from '../../../../config/schema/duration-schema.ts';
import { choiceRefused as refused, choiceVariable as variableOf } from './choice-variables.ts';

const [minute, hour, day] = [60_000, 3600_000, 86_400_000];

type Given = Readonly<NodeJS.ProcessEnv>;

/**
 * The profile with what the client chooses: `BERTH_TIME=4h`, `BERTH_CPUS=2`, `BERTH_MEMORY=8G`, `BERTH_GRES=gpu:2`, …
 *
 * @param env the environment that sshd set
 * @throws {BerthError} `slurm-choice-refused`, with what is allowed
 */
export function withChoices(profile: Profile, env: Given): Profile {
  const { batch, limits } = profile;
  const choose = choosable(profile);
  const upTo = (
    key: 'time' | 'cpus' | 'memory',
    parse: (text: string) => number | undefined,
    show: (value: number) => string,
  ): number | undefined => {
    const text = env[variableOf(key)];
    if (text === undefined) return undefined;
    const [max, value] = [choose[key]?.max, parse(text)];
    if (max === undefined) throw refused(key, text, 'this profile does not let you choose it');
    if (value === undefined || value <= 0) throw refused(key, text, examples[key]);
    if (value > max) throw refused(key, text, `this profile allows at most ${show(max)}`);
    return value;
  };
  const words = batchWords.flatMap((key) => {
    const text = env[variableOf(key)];
    return text === undefined ? [] : [[key, chosenWord(key, text, choose[key])] as const];
  });
  const parseTime = (text: string): number | undefined =>
    duration.safeParse(text).data ?? slurmTime(text);
  const time = upTo('time', parseTime, timeText);
  const processors = upTo('cpus', (text) => cpus.safeParse(Number(text)).data, String);
  const memory = upTo('memory', (text) => size.safeParse(text).data, sizeText);
  return {
    ...profile,
    batch: { ...batch, ...Object.fromEntries(words), ...(time !== undefined && { timeMs: time }) },
    limits: {
      ...limits,
      ...(processors !== undefined && { cpus: processors }),
      ...(memory !== undefined && { memory }),
    },
  };
}

/** Nobody chooses more time than sessions have. */
function choosable({
  batch: { choose = {} },
  timeouts,
}: Profile): NonNullable<Profile['batch']['choose']> {
  const { time, ...others } = choose;
  if (time === undefined) return others;
  return { ...others, time: { max: Math.min(time.max, timeouts.hardMs ?? Infinity) } };
}

/** What clients can choose. Without a maximum and values: whatever Slurm lets the user have. */
export interface ProfileChoiceOffer {
  readonly variable: string;
  readonly max?: string;
  readonly values?: readonly string[];
}

/** What `withChoices` accepts for a profile. */
export function profileChoices(profile: Profile): ProfileChoiceOffer[] {
  if (profile.backend !== 'slurm') return [];
  const { time, cpus, memory, ...words } = choosable(profile);
  return [
    ...(time === undefined ? [] : [{ variable: variableOf('time'), max: timeText(time.max) }]),
    ...(cpus === undefined ? [] : [{ variable: variableOf('cpus'), max: String(cpus.max) }]),
    ...(memory === undefined
      ? []
      : [{ variable: variableOf('memory'), max: sizeText(memory.max) }]),
    ...batchWords.flatMap((key) => {
      const allowed = words[key];
      if (allowed === undefined) return [];
      return [{ variable: variableOf(key), ...(allowed !== 'any' && { values: allowed }) }];
    }),
  ];
}

const examples = {
  time: 'it must be a time such as 30m, 4h or 1-00:00:00',
  cpus: 'it must be a number above 0, such as 4',
  memory: 'it must be a size such as 8G',
} as const;

function chosenWord(
  key: (typeof batchWords)[number],
  text: string,
  allowed: 'any' | readonly string[] | undefined,
): string {
  if (allowed === undefined) throw refused(key, text, 'this profile does not let you choose it');
  const fits =
    allowed === 'any' ? batchSchema.shape[key].safeParse(text).success : allowed.includes(text);
  if (fits) return text;
  const what = allowed === 'any' ? 'it must be one word' : `choose ${allowed.join(' or ')}`;
  throw refused(key, text, what);
}

/** As clients write it, and exact: `90s`. */
function timeText(ms: number): string {
  return inLargestUnit(ms, { h: 3600_000, m: 60_000, s: 1000, ms: 1 });
}

/** As clients write it, and exact: `512K`. */
function sizeText(bytes: number): string {
  return inLargestUnit(bytes, { G: 1024 ** 3, M: 1024 ** 2, K: 1024 });
}

function inLargestUnit(value: number, units: Readonly<Record<string, number>>): string {
  const [unit, size] = Object.entries(units).find(([, one]) => value % one === 0) ?? ['', 1];
  return `${value / size}${unit}`;
}

/**
 * A time as Slurm's commands take it, with a colon or days (sbatch(1), --time): `30:00`, `4:00:00`, `1-0`, `1-12:30`,
 * `1-12:30:00`. A number alone would be minutes there, and is nothing here.
 *
 * @returns milliseconds; undefined for anything else
 */
function slurmTime(text: string): number | undefined {
  const [, days, first = '', second, third] =
    /^(?:(\d{1,4})-)?(\d{1,5})(?::(\d{1,2}))?(?::(\d{1,2}))?$/.exec(text) ?? [];
  if (first === '' || (days === undefined && second === undefined)) return undefined;
  const numbers = [first, second ?? '0', third ?? '0'].map(Number);
  // Without days and with one colon, it is minutes and seconds.
  const isShort = days === undefined && third === undefined;
  const [one = 0, two = 0, three = 0] = isShort ? [0, ...numbers] : numbers;
  return Number(days ?? 0) * day + one * hour + two * minute + three * 1000;
}
