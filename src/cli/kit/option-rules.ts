import type { OptionSpecs } from './options.ts';

/** What is refused because it would be ignored. An option may be written with a value: `--for kubernetes`. */
export interface OptionRules {
  readonly options?: OptionSpecs;
  /** Options that have an effect only with another one. */
  readonly needs?: Readonly<Record<string, string>>;
  /** Options that have no effect, or no meaning, with one of these. */
  readonly without?: Readonly<Record<string, readonly string[]>>;
}

/**
 * What yargs does not refuse: an option that takes one value and is given twice, a number that is none, and an option that
 * the command would ignore.
 *
 * @param given by name, as yargs has read them
 * @returns true, as yargs wants it
 * @throws {Error} which yargs passes to `fail()`
 */
export function checkOptions(
  { options = {}, needs = {}, without = {} }: OptionRules,
  given: Readonly<Record<string, unknown>>,
): true {
  for (const [name, { array }] of Object.entries(options)) {
    const value = given[name];
    if (Array.isArray(value) && array !== true) throw new Error(`--${name} may be given only once`);
    if (Number.isNaN(value)) throw new Error(`--${name} must be a number`);
  }
  const has = (option: string): boolean => {
    const [name = '', wanted] = option.slice(2).split(' ');
    const value = given[name];
    if (wanted !== undefined) return value === wanted;
    return value !== undefined && value !== options[name]?.default;
  };
  for (const [option, other] of Object.entries(needs))
    if (has(option) && !has(other)) throw new Error(`${option} needs ${other}`);
  for (const [option, others] of Object.entries(without)) {
    const other = has(option) ? others.find(has) : undefined;
    if (other !== undefined) throw new Error(`${option} cannot be used with ${other}`);
  }
  return true;
}
