import { ofContainers, type Rule } from './policy.ts';

/** Every container says what it needs and where it ends, or the pod does for all. */
export function resourceRules(): Rule[] {
  return ['requests', 'limits'].flatMap((kind) =>
    ['cpu', 'memory'].map((name) =>
      // Ephemeral containers have no resources of their own.
      ofContainers(
        `resources.${kind}.${name}`,
        `!variables.spec.?resources.?${kind}.?${name}.hasValue() && !c.?resources.?${kind}.?${name}.hasValue() && !variables.spec.?ephemeralContainers.orValue([]).exists(e, e.name == c.name)`,
        `' must be present'`,
      ),
    ),
  );
}
