import { countText } from '../../system/text/count-text.ts';
import { collectionPath } from '../../kube/objects/kube-object.ts';
import {
  type NamespacesPlan,
  planNamespaceReap,
  type UnusedNamespace,
} from './rules/reap-namespaces-plan.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { deleteObject } from '../../kube/delete-object.ts';
import { reduceListPages } from '../../kube/list-all.ts';
import { userVolumeLabel } from '../../kube/objects/well-known-names.ts';
import { recordEvent } from './record-event.ts';
import { type PrometheusQuery, namespacesWithPods } from './prometheus-query.ts';
import type { ReapContext } from './reap-context.ts';

export interface NamespacesOptions {
  /** Seconds without a pod, and minimum age, before a namespace is deleted. */
  readonly after: number;
  /** Seconds without a login; default: `after`. */
  readonly lastLogin?: number | undefined;
  /** The whole name of a namespace that may be deleted. */
  readonly names?: RegExp | undefined;
  /** Limit for one run; 0 for none. */
  readonly max: number;
  /** Whether data in PersistentVolumeClaims may be deleted. */
  readonly deleteClaims: boolean;
  readonly prometheus?: PrometheusQuery;
}

export interface ReapedNamespaces {
  readonly deleted: readonly UnusedNamespace[];
  readonly left: NamespacesPlan['left'];
  /** Unused, but left for the next run. */
  readonly later: number;
  readonly failed: readonly BerthError[];
}

const notEnded = { fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' };

/**
 * Deletes namespaces without a recent login and without a running pod, as OSC's k8-namespace-reaper
 * does. If any of the checks cannot be made, none is deleted.
 */
export async function reapNamespaces(
  round: ReapContext,
  options: NamespacesOptions,
): Promise<ReapedNamespaces> {
  const { client } = round;
  try {
    const [running, volumes, claims, active] = await Promise.all([
      namespacesOf(client, '/api/v1/pods', 'listing the pods that run', notEnded),
      namespacesOf(client, '/api/v1/persistentvolumeclaims', "listing the users' volumes", {
        labelSelector: userVolumeLabel,
      }),
      options.deleteClaims
        ? new Set<string>()
        : namespacesOf(client, '/api/v1/persistentvolumeclaims', 'listing the claims'),
      options.prometheus && namespacesWithPods(options.prometheus, options.after),
    ]);
    const plan = planNamespaceReap({
      namespaces: round.namespaces,
      busy: running,
      withVolumes: volumes,
      withClaims: claims,
      youngest: round.pods.youngest,
      after: options.after,
      lastLogin: options.lastLogin ?? options.after,
      names: options.names,
      now: round.now(),
      ageOf: round.ageOf,
      secondsOf: round.secondsOf,
      active,
    });
    const chosen = plan.unused.slice(0, options.max === 0 ? Infinity : options.max);
    const rest = { left: plan.left, later: plan.unused.length - chosen.length };
    if (round.dryRun) return { deleted: chosen, ...rest, failed: [] };
    const { left, ...done } = await deleteAll(round, chosen);
    return { ...done, ...rest, later: rest.later + left };
  } catch (thrown) {
    const error = asBerthError(thrown, 'looking for unused namespaces');
    return { deleted: [], left: [], later: 0, failed: [error] };
  }
}

async function deleteAll(
  round: ReapContext,
  chosen: readonly UnusedNamespace[],
): Promise<Pick<ReapedNamespaces, 'deleted' | 'failed'> & { readonly left: number }> {
  const deleted: UnusedNamespace[] = [];
  const failed: BerthError[] = [];
  for (const [index, one] of chosen.entries()) {
    if (!(await round.mayGoOn())) return { deleted, failed, left: chosen.length - index };
    try {
      if (await deleteOne(round, one)) deleted.push(one);
    } catch (thrown) {
      failed.push(asBerthError(thrown, `reaping namespace ${one.name}`));
    }
  }
  return { deleted, failed, left: 0 };
}

/** If the user logs in meanwhile, the resourceVersion changes and the namespace is not deleted. */
async function deleteOne(
  { client, now }: ReapContext,
  { name, uid, resourceVersion, unused }: UnusedNamespace,
): Promise<boolean> {
  const inside = `${collectionPath('Namespace')}/${encodeURIComponent(name)}`;
  const pods = await namespacesOf(
    client,
    `${inside}/pods`,
    `listing the pods of ${name}`,
    notEnded,
  );
  if (pods.size > 0) return false;
  const gone = await deleteObject(client, {
    what: `namespace ${name}`,
    path: inside,
    preconditions: { uid, resourceVersion },
  });
  if (gone)
    await recordEvent(client, {
      about: { apiVersion: 'v1', kind: 'Namespace', name, uid },
      namespace: 'default',
      reason: 'NamespaceUnused',
      message: `Deleted by berth reap: unused for ${countText(Math.floor(unused / 86_400), 'day')}`,
      now: now(),
    });
  return gone;
}

function namespacesOf(
  client: ApiClient,
  path: string,
  attempted: string,
  selectors: { readonly fieldSelector?: string; readonly labelSelector?: string } = {},
): Promise<Set<string>> {
  return reduceListPages(client, path, {
    attempted,
    metadataOnly: true,
    ...selectors,
    begin: () => new Set<string>(),
    add: (names, { metadata }) => names.add(metadata.namespace ?? ''),
  });
}
