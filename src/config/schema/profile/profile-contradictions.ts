import { type ProblemMessage, writtenPath } from '../config-error.ts';
import type { ProfileDocument } from './profile-schema.ts';
import { transferToolsDir } from '../bundled-transfer-argv.ts';
import { isWithin } from './mount-path.ts';

/** Paths inside that podman or Berth uses. */
const takenTargets = ['/run/berth', '/proc', '/sys'];
/** Paths at which each pod has something mounted already. */
const takenInPods = ['/', '/etc/passwd', '/etc/group', transferToolsDir];

/** Keys that contradict each other, one sentence each. Every key has been checked by itself. */
export function profileContradictions(profile: ProfileDocument): ProblemMessage[] {
  return [
    ...lifetimes(profile),
    ...timeouts(profile),
    ...mounts(profile),
    ...variables(profile),
    ...networks(profile),
    ...failure(profile),
    ...capabilities(profile),
    ...tolerations(profile),
    ...volumes(profile),
  ];
}

function* lifetimes({
  lifetime = 'connection',
  grace,
  linger,
}: ProfileDocument): Generator<ProblemMessage> {
  if (grace !== undefined && lifetime !== 'user') {
    yield {
      path: ['grace'],
      text: 'grace needs lifetime: user, because the others end with their connection or at a fixed time',
    };
  }
  if (linger === true && lifetime === 'connection') {
    yield {
      path: ['linger'],
      text: 'linger needs lifetime: user or a duration, because a container of lifetime: connection ends with the connection',
    };
  }
}

function* timeouts({
  backend,
  lifetime = 'connection',
  timeouts = {},
  batch,
}: ProfileDocument): Generator<ProblemMessage> {
  const { idle, soft, hard = Infinity, warn = [] } = timeouts;
  const isTime = typeof lifetime === 'number';
  const end = isTime ? lifetime : hard;
  if (isTime && timeouts.hard !== undefined)
    yield {
      path: ['timeouts', 'hard'],
      text: 'timeouts.hard is a second time limit beside lifetime: remove one of them',
    };
  const ofJob =
    batch?.time !== undefined ? 'batch.time' : batch?.choose?.time && 'batch.choose.time';
  if (backend === 'slurm' && timeouts.hard !== undefined && ofJob !== undefined)
    yield {
      path: ['timeouts', 'hard'],
      text: `timeouts.hard is a second time limit of the job beside ${ofJob}: remove one of them`,
    };
  if (soft !== undefined && lifetime === 'connection')
    yield {
      path: ['timeouts', 'soft'],
      text: 'timeouts.soft needs lifetime: user or a time, because the others end with their connection anyway',
    };
  const before = isTime ? 'lifetime' : 'timeouts.hard';
  for (const [name, limit] of Object.entries({ idle, soft }))
    if (limit !== undefined && limit >= end)
      yield { path: ['timeouts', name], text: `timeouts.${name} must be less than ${before}` };
  for (const [index, limit] of warn.entries())
    if (limit >= end)
      yield {
        path: ['timeouts', 'warn', index],
        text: `timeouts.warn.${index + 1} must be less than ${before}`,
      };
  if (warn.length > 0 && end === Infinity && backend !== 'slurm' && batch?.time === undefined)
    yield {
      path: ['timeouts', 'warn'],
      text: 'timeouts.warn needs timeouts.hard or a lifetime that is a time',
    };
}

function* mounts(profile: ProfileDocument): Generator<ProblemMessage> {
  const targets = new Set<string>();
  for (const [index, mount] of (profile.mounts ?? []).entries()) {
    const target = mount.target ?? mount.source;
    const taken = takenTargets.find(
      (reserved) => isWithin(target, reserved) || isWithin(reserved, target),
    );
    if (taken !== undefined)
      yield {
        path: ['mounts', index],
        text: `mounts.${index + 1} must not be at, below or above ${taken}, which is reserved inside the session`,
      };
    if (targets.has(target))
      yield {
        path: ['mounts', index],
        text: `mounts.${index + 1} has the same target as an earlier mount`,
      };
    targets.add(target);
  }
}

function* variables({ environment }: ProfileDocument): Generator<ProblemMessage> {
  const { pass = [], set = {} } = environment ?? {};
  for (const name of Object.keys(set)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      yield {
        path: ['environment', 'set', name],
        text: `environment.set.${JSON.stringify(name.slice(0, 40))} is not a valid variable name`,
      };
    }
  }
  for (const name of [...pass, ...Object.keys(set)]) {
    if (name.startsWith('BERTH_'))
      yield {
        path: [
          'environment',
          ...(pass.includes(name) ? ['pass', pass.indexOf(name)] : ['set', name]),
        ],
        text: `environment names ${name}: names that begin with BERTH_ are reserved`,
      };
  }
}

function* networks({ network = 'host', slurm, x11 }: ProfileDocument): Generator<ProblemMessage> {
  if (network === 'host') return;
  if (slurm !== undefined)
    yield {
      path: ['slurm'],
      text: 'slurm needs network: host, because compute nodes connect back to srun',
    };
  if (x11 === true)
    yield {
      path: ['x11'],
      text: "x11 needs network: host, because sshd listens on the host's loopback",
    };
}

function* failure({ image, on_failure: policy }: ProfileDocument): Generator<ProblemMessage> {
  if (policy === undefined) return;
  const { action } = policy;
  if (action === 'fallback' && policy.image === undefined) {
    yield {
      path: ['on_failure', 'action'],
      text: 'on_failure.action fallback needs on_failure.image',
    };
  }
  if (action === 'fallback' && policy.image === image) {
    yield { path: ['on_failure', 'image'], text: 'on_failure.image is the same as image' };
  }
  if (action !== 'fallback' && policy.image !== undefined) {
    yield {
      path: ['on_failure', 'image'],
      text: `on_failure.image needs action: fallback, not ${action}`,
    };
  }
  if (action === 'host-shell' && policy.groups === undefined) {
    yield {
      path: ['on_failure', 'action'],
      text: 'on_failure.action host-shell needs on_failure.groups, which say who gets a shell on the host',
    };
  }
  if (action !== 'host-shell' && policy.groups !== undefined) {
    yield {
      path: ['on_failure', 'groups'],
      text: `on_failure.groups needs action: host-shell, not ${action}`,
    };
  }
}

function* capabilities({ podman }: ProfileDocument): Generator<ProblemMessage> {
  const { add = [], drop = [] } = podman?.capabilities ?? {};
  for (const name of add) {
    if (drop.includes(name))
      yield {
        path: ['podman', 'capabilities', 'add', add.indexOf(name)],
        text: `podman.capabilities has ${name} both in add and in drop`,
      };
  }
}

/** What the API server refuses: Kubernetes, `ValidateTolerations`. */
function* tolerations({ pod }: ProfileDocument): Generator<ProblemMessage> {
  for (const [index, one] of (pod?.tolerations ?? []).entries()) {
    const path = ['pod', 'tolerations', index];
    const written = writtenPath(path);
    if (one.key === undefined && one.operator !== 'Exists')
      yield { path, text: `${written} needs a key, or operator: Exists` };
    if (one.operator === 'Exists' && (one.value ?? '') !== '')
      yield { path, text: `${written}.value must be absent with operator: Exists` };
    if (one.seconds !== undefined && one.effect !== 'NoExecute')
      yield { path, text: `${written}.seconds needs effect: NoExecute` };
  }
}

/** Each path in a pod can be mounted once. */
function* volumes({ mounts, pod }: ProfileDocument): Generator<ProblemMessage> {
  const targets = (mounts ?? []).map(({ source, target = source }) => target);
  for (const target of Object.keys(pod?.volumes ?? {})) {
    const path = ['pod', 'volumes', target];
    if (targets.includes(target))
      yield { path, text: `pod.volumes.${target} is also the target of a mount` };
    if (takenInPods.includes(target)) yield { path, text: `pod.volumes.${target} is reserved` };
  }
}
