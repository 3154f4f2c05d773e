import { countText } from '../../count-text.ts';
import {
  type Profile,
  type ProfileRule,
  sessionBackends,
} from '../../config/schema/profile/profile.ts';
import { html, type Html } from './html.ts';
import { commandFor, type Door, type Site } from './site.ts';

/** The profiles that a rule or a door names: what sessions run in, and who may use them. */
export function profilesPage({ settings, doors }: Site): Html {
  const { rules, profiles, broken } = settings;
  const named = [...rules, ...doors].flatMap(({ profile }) => profile ?? []);
  const names = [...new Set(named)].filter((name) => profiles.has(name) || broken.has(name));
  const chosen = doors.find(({ profile }) => profile === undefined);
  const each = names.map((name) => {
    const profile = profiles.get(name);
    const asked = names.length > 1 && rules.some((rule) => rule.profile === name);
    const facts =
      profile === undefined
        ? html`<p class="bad">Not available at the moment: its configuration has a mistake.</p> `
        : html`<dl>
            ${profileFacts(profile, rules, doors).map(
              ([key, value]) =>
                html`<dt>${key}</dt>
                  <dd>${value}</dd> `,
            )}
          </dl> `;
    return html`<article aria-labelledby="${name}">
      <h2 id="${name}">${name}</h2>
      ${facts}${
        profile !== undefined && asked && chosen !== undefined
          ? html`<p>To ask for it:</p>
              <pre><code>${commandFor('ssh', chosen, ['-o', `SetEnv=BERTH_PROFILE=${name}`])}</code></pre> `
          : undefined
      }
    </article> `;
  });
  return html`<h1>Profiles</h1>
    <p>
      A profile says what your session runs in. The first one here that is for you is the one that
      you get, unless you ask for another.
    </p>
    ${each}${each.length === 0 ? html`<p>There are no profiles here.</p> ` : undefined}`;
}

/** What users may know of a profile; no names of users. */
export function profileFacts(
  profile: Profile,
  rules: readonly ProfileRule[],
  doors: readonly Door[],
): [string, string | Html][] {
  const { image, limits, mounts, network } = profile;
  const limitTexts = [
    ...(limits.cpus === undefined ? [] : [countText(limits.cpus, 'CPU')]),
    ...(limits.memory === undefined ? [] : [`${sizeText(limits.memory)} of memory`]),
    ...(limits.pids === undefined ? [] : [countText(limits.pids, 'process')]),
  ];
  const places = mounts.map(({ source, target = source, readOnly }) =>
    readOnly ? `${target} (read only)` : target,
  );
  return [
    ['Image', html`<code>${image}</code>`],
    [
      'Runs in',
      [...sessionBackends(profile, rules)].map((one) => backendText(one, profile)).join(', or '),
    ],
    ['Limits', limitTexts.length === 0 ? 'none of its own' : limitTexts.join(', ')],
    ['For', audience(profile, rules, doors)],
    ['Ends', endText(profile)],
    ...(places.length === 0 ? [] : [['Directories', places.join(', ')] as [string, string]]),
    ...(network === 'none' ? [['Network', 'none'] as [string, string]] : []),
  ];
}

function backendText(backend: Profile['backend'], { pod }: Profile): string {
  if (backend === 'podman') return 'a container on the login node';
  if (backend === 'slurm') return 'a job of Slurm on a compute node';
  return pod.cluster === undefined ? 'a pod' : `a pod on the cluster ${pod.cluster}`;
}

/** Rules are alternatives; a rule and the groups of the profile must both fit. */
function audience(
  { name, groups }: Profile,
  rules: readonly ProfileRule[],
  doors: readonly Door[],
): string {
  const ways = [
    ...rules.filter((rule) => rule.profile === name),
    ...doors.flatMap(({ profile, port }) => (profile === name ? { ports: [port] } : [])),
  ].map(({ users, groups: ofRule, ports, onRequest }: Partial<ProfileRule>) => {
    const people = [
      ...(users === undefined ? [] : [countText(users.length, 'account')]),
      ...(ofRule === undefined ? [] : [groupText(ofRule)]),
    ];
    return [
      people.length === 0 ? 'everybody' : people.join(' and '),
      ...(ports === undefined ? [] : [`on port ${ports.join(' or ')}`]),
      ...(onRequest === true ? ['who asks for it'] : []),
    ].join(' ');
  });
  const all = [...new Set(ways)].join('; ');
  return groups === undefined ? all : `${all}, in ${groupText(groups)}`;
}

function groupText(groups: readonly string[]): string {
  return `the group ${groups.join(' or ')}`;
}

function endText({ lifetime, timeouts }: Profile): string {
  const { idleMs, softMs, hardMs } = timeouts;
  return [
    lifetime.kind === 'connection'
      ? 'with the connection'
      : lifetime.graceMs === 0
        ? 'with the last connection'
        : `${timeText(lifetime.graceMs)} after the last connection`,
    ...(idleMs === undefined ? [] : [`after ${timeText(idleMs)} without input and output`]),
    ...(softMs === undefined ? [] : [`with the last connection after ${timeText(softMs)}`]),
    ...(hardMs === undefined ? [] : [`at the latest after ${timeText(hardMs)}`]),
  ].join('; ');
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
