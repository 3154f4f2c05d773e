import { containerRule, type Rule } from './policy-types.ts';

/** Every container, or the pod, has requests and limits. */
export function resourceRules(): Rule[] {
  return ['requests', 'limits'].flatMap((kind) =>
    ['cpu', 'memory'].map((name) =>
      // Ephemeral containers have no resources.
      containerRule(
        `resources.${kind}.${name}`,
        `!variables.spec.?resources.?${kind}.?${name}.hasValue() && !c.?resources.?${kind}.?${name}.hasValue() && !variables.spec.?ephemeralContainers.orValue([]).exists(e, e.name == c.name)`,
        `' must be present'`,
      ),
    ),
  );
}
