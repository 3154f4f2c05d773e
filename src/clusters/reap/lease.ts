import type { V1Lease } from '@kubernetes/client-node';
import type { KubeJson } from '../../kube/objects/kube-object.ts';
import type { ApiClient, ApiResponse } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

export interface Lease {
  /**
   * Call before each step: renews the lease after a third of its duration. False if another holder has
   * taken it, and nothing more may be done.
   */
  readonly held: () => Promise<boolean>;
  /** Releases it, so that the next holder need not wait. */
  readonly release: () => Promise<void>;
}

export interface LeaseOptions {
  /** Identity of the holder, unique for each process. */
  readonly holder: string;
  /** The API server's time now, seconds since the epoch. */
  readonly now: () => number;
}

type LeaseObject = KubeJson<V1Lease> & { readonly metadata: { readonly resourceVersion: string } };

/** In seconds. After a holder was killed, the next one waits this long. */
const leaseSeconds = 60;

/**
 * Acquires a Lease of coordination.k8s.io, as client-go's leader election does.
 *
 * @returns Undefined if another holder has it.
 * @throws the `api-…` errors
 */
export async function acquireLease(
  client: ApiClient,
  at: LeaseName,
  { holder, now }: LeaseOptions,
): Promise<Lease | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(at.namespace)}/leases/${encodeURIComponent(at.name)}`;
  const attempted = `taking Lease ${at.namespace}/${at.name}`;
  const spec = (): object => ({
    holderIdentity: holder,
    leaseDurationSeconds: leaseSeconds,
    // MicroTime: RFC 3339 with six digits.
    renewTime: new Date(now() * 1000).toISOString().replace('Z', '000Z'),
  });
  const change = async (
    resourceVersion: string,
    value: object,
  ): Promise<LeaseObject | undefined> => {
    const answer = await client.send({
      method: 'PATCH',
      path,
      contentType: 'application/json-patch+json',
      body: JSON.stringify([
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'add', path: '/spec', value },
      ]),
    });
    return answer.status === 422 || answer.status === 404 ? undefined : taken(answer, attempted);
  };

  // Created without a holder: two applies do not conflict, and the patch that follows decides.
  const make = async (): Promise<LeaseObject> => {
    const answer = await client.send({
      method: 'PATCH',
      path: `${path}?fieldManager=berth-reaper`,
      contentType: 'application/apply-patch+yaml',
      body: JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: at }),
    });
    return taken(answer, attempted);
  };

  const answer = await client.send({ method: 'GET', path });
  const live = answer.status === 404 ? await make() : taken(answer, attempted);
  if (isHeld(live, now())) return undefined;
  const mine = await change(live.metadata.resourceVersion, spec());
  if (mine === undefined) return undefined;
  let current = mine;
  let renewed = now();
  return {
    held: async () => {
      if (now() - renewed < leaseSeconds / 3) return true;
      const next = await change(current.metadata.resourceVersion, spec());
      if (next === undefined) return false;
      current = next;
      renewed = now();
      return true;
    },
    release: async () => {
      await change(current.metadata.resourceVersion, { leaseDurationSeconds: 1 });
    },
  };
}

function isHeld({ spec }: LeaseObject, now: number): boolean {
  if ((spec?.holderIdentity ?? '') === '') return false;
  const renewed = Date.parse(spec?.renewTime ?? '') / 1000;
  return Number.isFinite(renewed) && renewed + (spec?.leaseDurationSeconds ?? 0) > now;
}

function taken(answer: ApiResponse, attempted: string): LeaseObject {
  if (answer.status !== 200 && answer.status !== 201) throw apiError(attempted, answer);
  return answer.body as unknown as LeaseObject;
}
