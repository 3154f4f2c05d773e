import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admissionPolicies } from '../../../src/kube/admission/validating-policies.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import type { AdmissionResponse } from '../../rig/admission/admission-response.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { podWith } from './hostile.ts';
import { hostilePods } from './hostile-pods.ts';
import { bind, hostileDeletions, scheduledPod } from './hostile-endings.ts';
import { hostileClaims, hostileDevices } from './hostile-claims.ts';
import { hostileChanges, victim } from './hostile-requests.ts';
import { hostileServices } from './hostile-services.ts';
import { hostileTemplates } from './hostile-templates.ts';
import { testUser } from '../../rig/admission/test-user.ts';

let admission: AdmissionSite;
let minor: string;

beforeAll(async () => {
  const site = await openSite();
  minor = site.record.kubernetesMinor;
  admission = await AdmissionSite.install(site);
  await admission.create(victim, { keep: true });
  await admission.create(scheduledPod, { keep: true });
  await bind(admission, scheduledPod.metadata.name);
});
afterAll(() => admission.remove());

const home = (): string => `/api/v1/namespaces/${admission.namespace}`;
const object = (way: string): Promise<AdmissionResponse> => {
  const claims = [...hostileClaims, ...hostileDevices];
  const all = [...hostilePods, ...hostileTemplates, ...hostileServices, ...claims];
  const found = all.find((one) => one.way === way);
  if (found === undefined) throw new Error(`there is no hostile object: ${way}`);
  return admission.create(found.object);
};
const change = (way: string): Promise<AdmissionResponse> => {
  const found = hostileChanges.find((one) => one.way === way);
  if (found === undefined) throw new Error(`there is no hostile change: ${way}`);
  const { method, path, body, contentType } = found;
  return admission.request(method, `${home()}/${path}?dryRun=All`, body, contentType);
};

const deletion = (way: string): Promise<AdmissionResponse> => {
  const found = hostileDeletions.find((one) => one.way === way);
  if (found === undefined) throw new Error(`there is no hostile deletion: ${way}`);
  return admission.request(found.method, `${home()}/${found.path}`, found.body);
};

/** For each policy one thing that it alone refuses. */
const alone: Readonly<Record<string, () => Promise<AdmissionResponse>>> = {
  pods: () => object('a foreign fsGroup'),
  'pod-deletion': () => deletion('an end that takes for ever by its deletion'),
  'pod-templates': () => object('a Deployment of root'),
  'pod-binding': () => change('a node by pods/binding'),
  services: () => object('the default load balancer'),
  'service-endpoints': () => change("somebody else's pod behind a Service, by Endpoints"),
  reserved: () => change('a token of the default account for years'),
  'device-claims': () => object('a ResourceClaim of another class'),
  claims: () => object("a claim of an admin's volume"),
  'account-tokens': () => change('a token that never ends'),
  'namespace-identity': () =>
    admission.request('PATCH', `${home()}?dryRun=All`, {
      metadata: { annotations: { 'openondemand.org/uid': '1' } },
    }),
};

/** Until the API server has seen that the policy is gone. */
const taken = (attempt: () => Promise<AdmissionResponse>): Promise<AdmissionResponse> =>
  waitFor({ what: 'the request being taken', timeoutMs: 60_000 }, async () => {
    const verdict = await attempt();
    return verdict.status < 300 ? verdict : undefined;
  });

describe('without the policy that refuses it, the API server accepts', () => {
  it.each([...Object.entries(alone), ['pods', () => object('a lifetime over the limit')] as const])(
    '%s',
    async (policy, attempt) => {
      // It has no such claims.
      if (policy === 'device-claims' && minor === '1.33') return;
      expect(await attempt()).toMatchObject({ status: 403 });

      await admission.withoutPolicy(policy, async () => {
        await taken(attempt);
      });
    },
  );

  it('pods: a container without limits, if no defaults are filled in', async () => {
    const said = {
      metadata: { annotations: { 'pod.kubernetes.io/lifetime': '1h' } },
      context: {
        runAsUser: testUser.uid,
        runAsGroup: testUser.gid,
        runAsNonRoot: true,
        supplementalGroupsPolicy: 'Strict',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      container: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    };
    const unlimited = (): Promise<AdmissionResponse> =>
      admission.create(
        podWith(
          { securityContext: said.context },
          { securityContext: said.container },
          said.metadata,
        ),
      );

    await admission.withoutPolicy('pod-defaults', async () => {
      await waitFor({ what: 'the refusal', timeoutMs: 60_000 }, async () => {
        const { message } = await unlimited();
        return message.includes('resources.requests.cpu of container main must be present')
          ? true
          : undefined;
      });
      await admission.withoutPolicy('pods', async () => {
        await taken(unlimited);
      });
    });
  });

  it('pod-defaults: a pod without settings is refused', async () => {
    const plain = (): Promise<AdmissionResponse> => admission.create(testUser.pod());
    await admission.withoutPolicy('pod-defaults', async () => {
      await waitFor({ what: 'the refusal', timeoutMs: 60_000 }, async () =>
        (await plain()).status === 403 ? true : undefined,
      );
    });
    await taken(plain);
  });

  it('debug-defaults: an ephemeral container without settings is refused', async () => {
    const plain = (): Promise<AdmissionResponse> =>
      admission.request(
        'PATCH',
        `${home()}/pods/victim/ephemeralcontainers?dryRun=All`,
        { spec: { ephemeralContainers: [{ name: 'plain', image: testUser.image }] } },
        'application/strategic-merge-patch+json',
      );
    await admission.withoutPolicy('debug-defaults', async () => {
      await waitFor({ what: 'the refusal', timeoutMs: 60_000 }, async () =>
        (await plain()).message.includes('allowPrivilegeEscalation of container plain')
          ? true
          : undefined,
      );
    });
    await taken(plain);
  });

  it('every policy is covered', () => {
    const names = admissionPolicies(admission.settings).map(({ name }) => name);

    expect(Object.keys(alone).sort()).toEqual(names.sort());
  });
});
