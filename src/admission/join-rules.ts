import type { EachRule, Rule } from './policy-types.ts';

/*
 * The API server evaluates every rule and every message, even of rules that hold: with this many rules the
 * messages are most of the cost. It returns only the first message. So the rules of a policy are joined
 * into one expression, and its message determines which rule was violated.
 */

/** CEL: true where every rule holds. Each list is iterated once for all rules about its elements. */
export function joinedExpression(rules: readonly Rule[]): string {
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
export function joinedMessage(rules: readonly Rule[]): string {
  const [only, ...others] = rules;
  // A single rule needs no search; and some rules use `authorizer`, which messages cannot.
  if (only !== undefined && others.length === 0) return only.message;
  const chain = rules.reduceRight(
    (rest, { holds, message }) => `!(${holds}) ? ${message} : ${rest}`,
    "''",
  );
  return `(${joinedExpression(rules)} ? '' : ${chain})`;
}
