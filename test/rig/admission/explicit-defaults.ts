import { testUser } from './test-user.ts';

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (value ?? {}) as Fields;
const lists = ['containers', 'initContainers', 'ephemeralContainers'] as const;

/**
 * Adds the fields that the mutating policies would set to a pod, a workload or a patch with ephemeral
 * containers. Fields that it already has are kept.
 */
export function withDefaultsFilledIn(object: object): object {
  const { kind, spec, template, ...rest } = object as Fields;
  const own = fieldsOf(spec);
  if (kind === 'Pod') return { ...rest, kind, ...podWithDefaults(object as Fields) };
  if (kind === 'PodTemplate')
    return { ...rest, kind, template: podWithDefaults(fieldsOf(template)) };
  if (kind === 'CronJob') {
    const job = fieldsOf(own.jobTemplate);
    return {
      ...rest,
      kind,
      spec: { ...own, jobTemplate: { ...job, ...withDefaultsFilledIn(job) } },
    };
  }
  if (own.template !== undefined)
    return { ...object, spec: { ...own, template: podWithDefaults(fieldsOf(own.template)) } };
  if (own.ephemeralContainers !== undefined)
    return { ...object, spec: containersWithDefaults(own) };
  return object;
}

function podWithDefaults(pod: Fields): Fields {
  const metadata = fieldsOf(pod.metadata);
  const spec = fieldsOf(pod.spec);
  const deadline = spec.activeDeadlineSeconds;
  const lifetime = typeof deadline === 'number' ? `${deadline}s` : '1h';
  const annotations = { 'pod.kubernetes.io/lifetime': lifetime, ...fieldsOf(metadata.annotations) };
  const securityContext = {
    ...{ runAsUser: testUser.uid, runAsGroup: testUser.gid, runAsNonRoot: true },
    ...{ supplementalGroups: testUser.groups, supplementalGroupsPolicy: 'Strict' },
    seccompProfile: { type: 'RuntimeDefault' },
    ...fieldsOf(spec.securityContext),
  };
  return {
    ...pod,
    metadata: { ...metadata, annotations },
    spec: { ...containersWithDefaults(spec), securityContext },
  };
}

function containersWithDefaults(spec: Fields): Fields {
  const full = lists.flatMap((list) => {
    const containers = spec[list] as readonly Fields[] | undefined;
    return containers === undefined
      ? []
      : [[list, containers.map((each) => containerWithDefaults(each, list))] as const];
  });
  return { ...spec, ...Object.fromEntries(full) };
}

function containerWithDefaults(container: Fields, list: (typeof lists)[number]): Fields {
  const context = fieldsOf(container.securityContext);
  const capabilities = fieldsOf(context.capabilities);
  const drop = (capabilities.drop ?? []) as readonly string[];
  const added = (capabilities.add ?? []) as readonly string[];
  // The API server itself rejects these in combination with allowPrivilegeEscalation: false.
  const mayEscalate =
    context.privileged === true || added.some((each) => each.endsWith('SYS_ADMIN'));
  const securityContext = {
    ...(mayEscalate ? {} : { allowPrivilegeEscalation: false }),
    ...context,
    capabilities: { ...capabilities, drop: drop.includes('ALL') ? drop : [...drop, 'ALL'] },
  };
  if (list === 'ephemeralContainers') return { ...container, securityContext };
  const { requests, limits } = fieldsOf(container.resources) as Record<string, Fields | undefined>;
  const least = { cpu: '500m', memory: '256Mi' };
  return {
    ...container,
    securityContext,
    resources: {
      requests: { ...least, ...limits, ...requests },
      limits: { ...least, ...requests, ...limits },
    },
  };
}
