import {
  type AdmissionSettings,
  siteAdmission,
} from '../../desired/admission/admission-settings.ts';
import { lifetimeAnnotation } from '../../desired/names.ts';
import { probeIdentity, probeNamespace } from '../../desired/admission/probe.ts';
import type { ApiClient } from '../../reconcile/api-client.ts';
import { apiError } from '../../reconcile/api-errors.ts';
import { mayI } from '../../reconcile/self-review.ts';
import { failed, type Finding, ok, skipped } from './check.ts';

const install = 'kubectl apply -k etc/kubernetes/admission';

type Fields = Readonly<Record<string, unknown>>;

const context = {
  runAsUser: probeIdentity.uid,
  runAsGroup: probeIdentity.gid,
  runAsNonRoot: true,
  supplementalGroupsPolicy: 'Strict',
  seccompProfile: { type: 'RuntimeDefault' },
};

/** A pod to which no policy of any site has anything to say, but for what is given. */
function pod(spec: Fields, container: Fields = {}, annotations: Fields = {}): Fields {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'berth-doctor',
      annotations: { [lifetimeAnnotation]: '1m', ...annotations },
    },
    spec: {
      securityContext: context,
      containers: [
        {
          name: 'main',
          image: 'registry.invalid/berth-doctor',
          resources: { limits: { cpu: '1m', memory: '1Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          ...container,
        },
      ],
      ...spec,
    },
  };
}

/** What each policy must refuse. Images are not among it: a site may allow them all. */
const hostile: readonly (readonly [policy: string, object: Fields])[] = [
  ['pod-spec', pod({ securityContext: { ...context, runAsUser: 1 } })],
  ['pod-spec', pod({ hostPID: true })],
  ['pod-spec', pod({ volumes: [{ name: 'root', hostPath: { path: '/' } }] })],
  ['pod-spec', pod({ nodeName: 'berth-doctor' })],
  ['pod-metadata', pod({}, {}, { [lifetimeAnnotation]: '99999h' })],
  ['pod-metadata', pod({}, {}, { 'cdi.k8s.io/berth-doctor': 'berth.dev/nothing=all' })],
];

/**
 * Whether the cluster itself refuses pods that run as somebody else: server-side dry runs in the probe
 * namespace, which change nothing. The answer names the policy; another one's refusal is none of ours.
 *
 * @param settings Of the policies that are looked for, where they are not the site's own.
 */
export async function admissionFinding(
  client: ApiClient,
  settings: Pick<AdmissionSettings, 'prefix'> = siteAdmission(),
): Promise<Finding> {
  const namespace = probeNamespace(settings);
  const right = { verb: 'create', group: '', resource: 'pods', namespace } as const;
  if (!(await mayI(client, right)))
    return skipped(
      `whether the admission policies hold cannot be tried: we may not create pods in ${namespace}, a right that they bring with them: ${install}`,
    );
  const verdicts = await Promise.all(
    hostile.map(async ([name, object]) => {
      const policy = settings.prefix + name;
      return { policy, verdict: await verdictOf(client, { namespace, policy, object }) };
    }),
  );
  // An admin may create pods anywhere, also where there is no namespace.
  if (verdicts.some(({ verdict }) => verdict === 'nowhere'))
    return skipped(`the admission policies are not installed (no ${namespace}): ${install}`);
  const open = new Set(
    verdicts.filter(({ verdict }) => verdict === 'taken').map(({ policy }) => policy),
  );
  if (open.size === 0)
    return ok(`pods that are not their user's are refused (${verdicts.length} ways tried)`);
  return failed(
    `nothing refuses what these policies are for: ${[...open].join(', ')}`,
    `Install them again: ${install}; and see that their bindings say Deny.`,
  );
}

/** What came of a pod; a refusal counts only by this policy, of Kubernetes' own or of Kyverno. */
async function verdictOf(
  client: ApiClient,
  tried: { readonly namespace: string; readonly policy: string; readonly object: Fields },
): Promise<'refused' | 'taken' | 'nowhere'> {
  const answer = await client.send({
    method: 'POST',
    path: `/api/v1/namespaces/${tried.namespace}/pods?dryRun=All`,
    contentType: 'application/json',
    body: JSON.stringify(tried.object),
  });
  const message = typeof answer.body.message === 'string' ? answer.body.message : '';
  if (message.includes(tried.policy)) return 'refused';
  // Whatever all policies take the quota refuses.
  if (answer.status === 201 || message.includes('exceeded quota')) return 'taken';
  if (answer.status === 404) return 'nowhere';
  throw apiError(`trying what ${tried.policy} refuses`, answer);
}
