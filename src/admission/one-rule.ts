import type { EachRule, Rule } from './policy.ts';

/*
 * The API server evaluates every rule on its own and every message too, those of rules that hold included:
 * with as many rules as ours the messages cost more than all else. It says the first message only. So the
 * rules of a policy are one, and its message looks for the broken one where there is one.
 */

/** CEL: true where every rule holds. Lists are gone through once, for all rules about their elements. */
export function allHold(rules: readonly Rule[]): string {
  const alone = rules.flatMap(({ holds, each }) => (each === undefined ? [`(${holds})`] : []));
  const lists = Map.groupBy(
    rules.flatMap(({ each }) => each ?? []),
    ({ list }) => list,
  );
  return [...alone, ...[...lists.values()].map(noneViolated)].join(' && ');
}

function noneViolated(rules: readonly EachRule[]): string {
  const [first] = rules;
  if (first === undefined) return 'true';
  const { list, element } = first;
  const violated = rules.map((rule) => `(${rule.violated})`).join(' || ');
  return `!variables.${list}.exists(${element}, ${violated})`;
}

/** CEL, a string: the message of the first rule that does not hold. */
export function firstBroken(rules: readonly Rule[]): string {
  const [only, ...others] = rules;
  // Nothing to look for; and a message may not ask the authorizer, as rules of some do.
  if (only !== undefined && others.length === 0) return only.message;
  const chain = rules.reduceRight(
    (rest, { holds, message }) => `!(${holds}) ? ${message} : ${rest}`,
    "''",
  );
  return `(${allHold(rules)} ? '' : ${chain})`;
}
