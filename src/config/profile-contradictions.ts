import type { ProfileDocument } from './profile-schema.ts';
import { isWithin } from './protected-folders.ts';

/** What podman or Berth itself puts there. */
const takenTargets = ['/run/berth', '/proc', '/sys'];

/** What cannot be meant together, a sentence each; every key for itself is right. */
export function contradictions(profile: ProfileDocument): string[] {
  return [
    ...lifetimes(profile),
    ...mounts(profile),
    ...variables(profile),
    ...networks(profile),
    ...failure(profile),
    ...capabilities(profile),
  ];
}

function* lifetimes({ lifetime = 'connection', grace, linger, deadline }: ProfileDocument) {
  if (grace !== undefined && lifetime !== 'user') {
    yield 'grace needs lifetime: user: otherwise nothing waits for a next connection';
  }
  if (linger === true && lifetime === 'connection') {
    yield 'linger needs lifetime: user, or a time: a container per connection ends with it';
  }
  if (lifetime === 0) yield 'lifetime must be longer than 0';
  if (deadline === 0) yield 'deadline must be longer than 0';
}

function* mounts(profile: ProfileDocument) {
  const targets = new Set<string>();
  for (const [index, mount] of (profile.mounts ?? []).entries()) {
    const target = mount.target ?? mount.source;
    const taken = takenTargets.find(
      (folder) => isWithin(target, folder) || isWithin(folder, target),
    );
    if (taken !== undefined) yield `mounts.${index} covers ${taken} inside, which is taken`;
    if (targets.has(target)) yield `mounts.${index} has the target of a mount before it`;
    targets.add(target);
  }
}

function* variables({ environment }: ProfileDocument) {
  const { pass = [], set = {} } = environment ?? {};
  for (const name of Object.keys(set)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      yield `environment.set.${JSON.stringify(name.slice(0, 40))} is no name of a variable`;
    }
  }
  for (const name of [...pass, ...Object.keys(set)]) {
    if (name.startsWith('BERTH_')) yield `environment names ${name}: BERTH_ is Berth's own`;
  }
}

function* networks({ network = 'host', slurm, x11 }: ProfileDocument) {
  if (network === 'host') return;
  if (slurm !== undefined) yield 'slurm needs network: host: srun is called back by the nodes';
  if (x11 === true) yield "x11 needs network: host: sshd listens at the host's loopback";
}

function* failure({ image, on_failure: policy }: ProfileDocument) {
  if (policy === undefined) return;
  const { action } = policy;
  if (action === 'fallback' && policy.image === undefined) {
    yield 'on_failure.action fallback needs on_failure.image';
  }
  if (action === 'fallback' && policy.image === image) {
    yield 'on_failure.image is the image that failed';
  }
  if (action !== 'fallback' && policy.image !== undefined) {
    yield `on_failure.image needs action: fallback, not ${action}`;
  }
  if (action === 'host-shell' && policy.groups === undefined) {
    yield 'on_failure.action host-shell needs on_failure.groups: not everybody gets the host';
  }
  if (action !== 'host-shell' && policy.groups !== undefined) {
    yield `on_failure.groups needs action: host-shell, not ${action}`;
  }
}

function* capabilities({ podman }: ProfileDocument) {
  const { add = [], drop = [] } = podman?.capabilities ?? {};
  for (const name of add) {
    if (drop.includes(name)) yield `podman.capabilities has ${name} both in add and in drop`;
  }
}
