import { countText } from '../count-text.ts';
import type { BerthError } from '../errors/berth-error.ts';
import type { ClusterSyncResult, LdapSyncReport } from '../ldap/ldap-sync.ts';
import { escapedForTerminal } from '../log.ts';
import type { DocumentError } from './documents.ts';
import { documentText } from './kit/json-document.ts';

/** A line for each changed namespace, and a summary for each cluster. */
export function ldapSyncText(report: LdapSyncReport, dryRun: boolean): string {
  const { people, url } = report;
  const lines = [
    `${url}: ${countText(people.users.size, 'user')}, ${countText(people.groups, 'group')}`,
    ...report.clusters.flatMap((one) => clusterLines(one, dryRun)),
  ];
  return lines.map((line) => `${escapedForTerminal(line)}\n`).join('');
}

function clusterLines(one: ClusterSyncResult, dryRun: boolean): string[] {
  if ('error' in one) return [];
  const { changes, unchanged, ownerless, held, configMaps } = one.synced;
  const prefix = `${one.cluster}: `;
  const verbs = dryRun ? planned : done;
  return [
    ...changes.map(({ kind, namespace, owner, wanted, before }) => {
      const parts = Object.entries(wanted).flatMap(([key, value]) =>
        value === undefined || kind === 'mark'
          ? []
          : [`${key.replace('openondemand.org/', '')} ${before[key] ?? 'none'} -> ${value}`],
      );
      const detail = parts.length === 0 ? '' : ` (${parts.join('; ')})`;
      return `${prefix}${verbs[kind]} ${namespace} of ${owner}${detail}`;
    }),
    ...configMaps.flatMap(({ name, action, keys, unnameable }) => [
      ...(action === 'none'
        ? []
        : [`${prefix}${verbs[action]} ConfigMap ${name}, ${countText(keys, 'user')}`]),
      ...(unnameable.length === 0
        ? []
        : [
            `${prefix}ConfigMap ${name} leaves out ${unnameable.join(', ')}: these names are not valid ConfigMap keys`,
          ]),
    ]),
    ...ownerless.map(
      (name) =>
        `${prefix}${name} has no owner annotation: its user has not logged in since Berth was installed`,
    ),
    ...[...held].map(([name, reason]) => `${prefix}${name} is left as it is: ${reason}`),
    `${prefix}${countText(changes.length, 'namespace')} ${dryRun ? 'to change' : 'changed'}, ${unchanged} unchanged`,
  ];
}

const done = {
  ...{ create: 'created', update: 'changed', mark: 'marked as removed:' },
  unmark: 'no longer marked as removed:',
};
const planned = {
  ...{ create: 'would create', update: 'would change', mark: 'would mark as removed:' },
  unmark: 'would no longer mark as removed:',
};

/** The same as JSON, with stable names. */
export function ldapSyncJson(report: LdapSyncReport, dryRun: boolean): string {
  const { people, url } = report;
  const value = {
    ...{ dryRun, server: url, users: people.users.size, groups: people.groups },
    refused: people.refused,
    clusters: report.clusters.map((one) => {
      if ('error' in one) return { cluster: one.cluster, error: errorJson(one.error) };
      const { error, changes, unchanged, ownerless, held, configMaps } = one.synced;
      return {
        cluster: one.cluster,
        changes: changes.map(({ namespace, owner, kind, wanted, before }) => ({
          ...{ namespace, owner, kind, before },
          after: Object.fromEntries(
            Object.entries(wanted).map(([key, after]) => [key, after ?? null]),
          ),
        })),
        ...{ unchanged, ownerless, held: [...held.keys()], configMaps },
        holdReasons: Object.fromEntries(held),
        ...(error === undefined ? {} : { error: errorJson(error) }),
      };
    }),
  };
  return documentText('LdapSync', value);
}

function errorJson({ code, message, hint }: BerthError): DocumentError {
  return { code, message: escapedForTerminal(message), next: escapedForTerminal(hint) };
}
