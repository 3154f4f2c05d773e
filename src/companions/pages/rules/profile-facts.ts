import { countText } from '../../../system/text/count-text.ts';
import {
  type Profile,
  type ProfileRule,
  sessionBackends,
} from '../../../config/schema/profile/profile.ts';
import { html, type Html } from './html.ts';
import type { SshAddress } from './site.ts';

/**
 * What users may know of a profile; no names of users.
 *
 * @param rules those of the profile
 */
export function profileFacts(
  profile: Profile,
  rules: readonly ProfileRule[],
  addresses: readonly SshAddress[],
): readonly (readonly [string, string | Html])[] {
  const { cpus, memory, pids } = profile.limits;
  const limits = [
    ...(cpus === undefined ? [] : [countText(cpus, 'CPU')]),
    ...(memory === undefined ? [] : [`${sizeText(memory)} of memory`]),
    ...(pids === undefined ? [] : [countText(pids, 'process')]),
  ];
  const backends = [...sessionBackends(profile, rules)].map((one) => backendText(one, profile));
  const directories = profile.mounts.map(
    ({ source, target = source, readOnly }) =>
      `${target.replace(/\$\{(\w+)\}/g, '$$$1')}${readOnly ? ' (read only)' : ''}`,
  );
  const facts: (readonly [string, string | Html])[] = [
    ['Image', html`<code>${profile.image}</code>`],
    ['Runs in', backends.join(' or ')],
    ['Limits', limits.length === 0 ? 'none of its own' : limits.join(', ')],
    ['For', audience(profile, rules, addresses)],
    ['Ends', endText(profile)],
    ['Directories', directories.join(', ')],
    ['Network', profile.network === 'none' ? 'none' : ''],
  ];
  return facts.filter(([, value]) => value !== '');
}

function backendText(backend: Profile['backend'], { pod }: Profile): string {
  if (backend === 'podman') return 'a container on the login node';
  if (backend === 'slurm') return 'a job of Slurm on a compute node';
  return pod.cluster === undefined ? 'a pod' : `a pod on the cluster ${pod.cluster}`;
}

/** Rules and addresses are alternatives; one of them and the groups of the profile must both fit. */
function audience(
  { name, groups }: Profile,
  rules: readonly ProfileRule[],
  addresses: readonly SshAddress[],
): string {
  const byRule = rules.map(({ users, groups: ofRule, ports, onRequest }) => {
    const narrower = ofRule?.every((group) => groups?.includes(group)) === true;
    const people = [
      ...(users === undefined ? [] : [countText(users.length, 'account')]),
      ...(ofRule === undefined ? [] : [memberText(ofRule)]),
      ...(groups === undefined || narrower ? [] : [memberText(groups)]),
    ];
    const outside = ports?.map(
      (port) => addresses.find(({ sshdPort }) => sshdPort === port)?.port ?? port,
    );
    return `${peopleText(people)}${portText(outside)}${onRequest === true ? ', on request' : ''}`;
  });
  const byAddress = addresses
    .filter(({ profile }) => profile === name)
    .map(
      ({ port }) =>
        `${peopleText(groups === undefined ? [] : [memberText(groups)])}${portText([port])}`,
    );
  return [...new Set([...byAddress, ...byRule])].join('; ');
}

function memberText(groups: readonly string[]): string {
  return `members of ${groups.join(' or ')}`;
}

function peopleText(people: readonly string[]): string {
  return people.length === 0 ? 'everybody' : people.join(' who are also ');
}

function portText(ports: readonly number[] | undefined): string {
  return ports === undefined ? '' : `, on port ${ports.join(' or ')}`;
}

function endText({ lifetime, timeouts: { idleMs, softMs, hardMs = Infinity } }: Profile): string {
  const last =
    lifetime.kind === 'connection'
      ? 'with the connection'
      : lifetime.graceMs === 0
        ? 'with the last connection'
        : lifetime.graceMs < hardMs && `${timeText(lifetime.graceMs)} after the last connection`;
  return [
    last,
    idleMs !== undefined && `after ${timeText(idleMs)} without input and output`,
    softMs !== undefined && `with the last connection after ${timeText(softMs)}`,
    hardMs !== Infinity && `at the latest after ${timeText(hardMs)}`,
  ]
    .filter((text) => text !== false)
    .join('; ');
}

function timeText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds % 86_400 === 0) return countText(seconds / 86_400, 'day');
  if (seconds % 3600 === 0) return countText(seconds / 3600, 'hour');
  return seconds % 60 === 0 ? countText(seconds / 60, 'minute') : countText(seconds, 'second');
}

function sizeText(bytes: number): string {
  const gib = bytes / 1024 ** 3;
  return gib >= 1 ? `${Number(gib.toFixed(1))} GiB` : `${Math.round(bytes / 1024 ** 2)} MiB`;
}
