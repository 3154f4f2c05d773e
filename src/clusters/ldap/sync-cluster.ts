import type { ClusterTarget } from '../access/cluster-target.ts';
import type { LdapSettings } from '../../config/schema/ldap-settings.ts';
import { assertEnoughEntries } from '../../directory/rules/refuse-shrunken-directory.ts';
import type { LdapUsers } from '../../directory/rules/ldap-users.ts';
import type { HeldRuns } from '../../directory/rules/possible-people.ts';
import { collectionPath, type LiveObject } from '../../kube/objects/kube-object.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { withApiClient, type ApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import { listUserNamespaces } from '../../kube/list-all.ts';
import { objectIfFound } from '../../kube/read-user-objects.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { type LiveConfigMap, readConfigMap, writeConfigMap } from './config-map.ts';
import {
  changeOperations,
  directoryMap,
  type NamespaceChange,
  namespaceLosses,
  type NamespacePlan,
  planNamespaces,
} from './rules/namespace-annotations.ts';

export interface SyncOptions {
  readonly ldap: LdapSettings;
  readonly dryRun: boolean;
  /** The admin confirms that this many have left. */
  readonly acceptFewer: boolean;
  /** Epoch seconds. */
  readonly now: number;
  readonly deadline: AbortSignal;
  readonly onProgress?: (done: number, of: number) => void;
}

/** What was written on one cluster, or would be written. */
export interface SyncedCluster {
  readonly changes: readonly NamespaceChange[];
  readonly unchanged: number;
  readonly ownerless: readonly string[];
  readonly held: ReadonlyMap<string, string>;
  readonly configMaps: readonly SyncedMap[];
  /** What the API server refused for single namespaces and ConfigMaps. */
  readonly failed: readonly BerthError[];
  /** The error that stopped the writing. */
  readonly error?: BerthError;
}

export interface SyncedMap {
  readonly name: string;
  readonly action: 'create' | 'update' | 'none';
  readonly keys: number;
  readonly unnameable: readonly string[];
}

/** Keeps the numbers of the last run, in the namespace of the hook's account. */
const memory = { namespace: 'ondemand', name: 'berth-ldap-sync' };

/** The API server's limit for a ConfigMap's data: k8s.io/kubernetes, MaxSecretSize. */
const largestData = 1024 * 1024;

const writesAtOnce = 8;

/**
 * Brings one cluster to the state of the directory. Everything is read and checked before the first
 * write: if the directory has become much smaller since the last run, nothing is changed.
 *
 * @throws BerthError `ldap-too-few-entries`, `config-map-too-large`, the `api-…` errors
 */
export async function syncCluster(
  target: ClusterTarget,
  people: LdapUsers,
  options: SyncOptions,
): Promise<SyncedCluster> {
  const { now, dryRun, deadline } = options;
  return withApiClient(await target.reach(deadline), deadline, async (client) => {
    const [namespaces, remembered] = await Promise.all([
      listUserNamespaces(client, options.ldap.namespaceSelector),
      readConfigMap(client, memory),
    ]);
    const held = JSON.parse(remembered?.data.held ?? '{}') as Record<string, number>;
    const before = new Map(Object.entries(held));
    const plan = planNamespaces(namespaces, people, now, before);
    if (!options.acceptFewer)
      assertEnoughEntries(
        people,
        remembered?.data ?? {},
        namespaceLosses(plan),
        options.ldap.keepPercent,
      );
    const maps = await planMaps(client, people, options.ldap, before);
    if (dryRun) return { ...plan, configMaps: maps.map(({ shown }) => shown), failed: [] };

    const changes: NamespaceChange[] = [];
    const configMaps: SyncedMap[] = [];
    const failed: BerthError[] = [];
    let done = 0;
    try {
      await mapConcurrent(plan.changes, writesAtOnce, async (change) => {
        const written = await unlessRefused(failed, () =>
          annotateNamespace(client, change, (live) => planNamespaces([live], people, now, before)),
        );
        if (written !== undefined) changes.push(written);
        done += 1;
        options.onProgress?.(done, plan.changes.length);
      });
      for (const { shown, write } of maps)
        await unlessRefused(failed, async () => {
          await write();
          configMaps.push(shown);
        });
      await remember(client, { people, held: plan.heldRuns }, remembered);
    } catch (thrown) {
      // What was written stays: the next run continues from there.
      const error = asBerthError(thrown, `writing on cluster ${target.name}`);
      return { ...plan, changes, configMaps, failed, error };
    }
    return { ...plan, changes, configMaps, failed };
  });
}

/** A write that the API server answers with an error, such as that of an admission webhook, concerns one object only. */
async function unlessRefused<Result>(
  failed: BerthError[],
  write: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await write();
  } catch (thrown) {
    if (!(thrown instanceof BerthError && 'status' in thrown.fields)) throw thrown;
    failed.push(thrown);
    return undefined;
  }
}

async function remember(
  client: ApiClient,
  { people, held }: { readonly people: LdapUsers; readonly held: HeldRuns },
  live: LiveConfigMap | undefined,
): Promise<void> {
  const data = {
    users: String(people.users.size),
    groups: String(people.groupNames.length),
    ...(held.size > 0 && { held: JSON.stringify(Object.fromEntries(held)) }),
  };
  if (!sameData(live?.data, data)) await writeConfigMap(client, memory, data, live);
}

async function planMaps(
  client: ApiClient,
  people: LdapUsers,
  { configMaps }: LdapSettings,
  before: HeldRuns,
): Promise<{ readonly shown: SyncedMap; readonly write: () => Promise<void> }[]> {
  if (configMaps === undefined) return [];
  const { namespace, userPrefix, maps } = configMaps;
  return Promise.all(
    maps.map(async (kind) => {
      const at = { namespace, name: `${kind}-map` };
      const live = await readConfigMap(client, at);
      const wanted = directoryMap(people, { kind, userPrefix, live: live?.data ?? {}, before });
      checkSize(kind, wanted);
      const action =
        live === undefined ? 'create' : sameData(live.data, wanted.data) ? 'none' : 'update';
      return {
        shown: {
          name: `${namespace}/${wanted.name}`,
          action,
          keys: Object.keys(wanted.data).length,
          unnameable: wanted.unnameable,
        },
        write: async () => {
          if (action !== 'none') await writeConfigMap(client, at, wanted.data, live);
        },
      };
    }),
  );
}

function checkSize(kind: string, { name, data }: ReturnType<typeof directoryMap>): void {
  const size = Object.entries(data).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (size <= largestData) return;
  throw new BerthError(
    'config-map-too-large',
    `ConfigMap ${name} would have ${size} bytes; the limit is ${largestData}`,
    {
      hint: `Nothing was changed. Remove ${kind} from ldap.config_maps.maps, narrow ldap.users.filter, or let policies read the annotations of namespaces, which have no such limit.`,
    },
  );
}

function sameData(
  one: Readonly<Record<string, string>> | undefined,
  other: Readonly<Record<string, string>>,
): boolean {
  if (one === undefined || Object.keys(one).length !== Object.keys(other).length) return false;
  return Object.entries(other).every(([key, value]) => one[key] === value);
}

/**
 * Writes a planned change. If the namespace was changed since it was planned, it is read and planned once
 * more: a login may have made the same change, or the namespace may now belong to another user.
 *
 * @returns The change that was written; undefined if none was left to write.
 * @throws the `api-…` errors
 */
async function annotateNamespace(
  client: ApiClient,
  planned: NamespaceChange,
  planAgain: (live: LiveObject) => NamespacePlan,
): Promise<NamespaceChange | undefined> {
  const path = `${collectionPath('Namespace')}/${encodeURIComponent(planned.namespace)}`;
  const patch = (change: NamespaceChange): ReturnType<ApiClient['send']> =>
    client.send({
      method: 'PATCH',
      path: `${path}?fieldManager=berth-ldap-sync`,
      contentType: 'application/json-patch+json',
      body: JSON.stringify(changeOperations(change)),
    });
  const attempted = `writing the LDAP data to the annotations of namespace ${planned.namespace}`;
  const answer = await patch(planned);
  if (answer.status === 200) return planned;
  if (answer.status === 404) return undefined;
  if (answer.status !== 422) throw apiError(attempted, answer);

  const live = objectIfFound(
    await client.send({ method: 'GET', path }),
    `reading ${planned.namespace}`,
  );
  if (live === undefined) return undefined;
  const [change] = planAgain(live).changes;
  if (change?.owner !== planned.owner) return undefined;
  const again = await patch(change);
  if (again.status === 200) return change;
  throw apiError(attempted, again);
}
