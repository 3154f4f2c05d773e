import type { BalancerPods, BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { nearestKey } from '../../config/schema/nearest-key.ts';
import { BerthError } from '../../errors/berth-error.ts';

/**
 * The settings of a balancer for one kind of sessions, of each system that has it. Its name is the kind's own, if it
 * has one.
 *
 * @throws BerthError `kind-unknown`
 */
export function onlyKind(settings: BalancerSettings, name: string): BalancerSettings {
  const kinds = settings.kinds.filter((kind) => kind.name === name);
  const [first] = kinds;
  if (first !== undefined)
    return {
      ...{ ...settings, kinds, hostname: first.hostname ?? settings.hostname },
      kubernetes: ownNamespace(settings.kubernetes, name),
    };
  const known = [...new Set(settings.kinds.map((kind) => kind.name))];
  const near = nearestKey(name, known);
  throw new BerthError(`there is no kind ${name}; there are: ${known.join(', ')}`, {
    code: 'kind-unknown',
    hint:
      near === undefined ? 'Give --kind the name of an entry of `kinds`.' : `Did you mean ${near}?`,
  });
}

/** A balancer of its own has an address of its own, which MetalLB chooses from the pool. */
function ownNamespace(pods: BalancerPods, kind: string): BalancerPods {
  return { ...pods, namespace: `${pods.namespace}-${kind}` };
}
