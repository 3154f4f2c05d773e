import type { LogCode } from '../error-codes.ts';
import { accountErrors } from './account-errors.ts';
import { clusterErrors } from './cluster-errors.ts';
import { configurationErrors } from './configuration-errors.ts';
import { containerErrors } from './container-errors.ts';
import { credentialErrors } from './credential-errors.ts';
import type { CatalogueEntry } from './entry.ts';
import { hookEnvErrors } from './hook-env-errors.ts';
import { imageErrors } from './image-errors.ts';
import { ldapErrors } from './ldap-errors.ts';
import { podErrors } from './pod-errors.ts';
import { programErrors } from './program-errors.ts';
import { reapErrors } from './reap-errors.ts';
import { sessionErrors } from './session-errors.ts';
import { tokenErrors } from './token-errors.ts';

const domains = {
  'Programs and files': programErrors,
  Configuration: configurationErrors,
  'hook.env': hookEnvErrors,
  'Accounts, homes and subordinate IDs': accountErrors,
  'Tokens and the identity provider': tokenErrors,
  'Kubeconfigs, credentials and the broker': credentialErrors,
  'Clusters and namespaces': clusterErrors,
  'SSH sessions': sessionErrors,
  'Sessions in containers': containerErrors,
  'Sessions in pods': podErrors,
  'Images of sessions': imageErrors,
  'Cleanup of sessions and clusters': reapErrors,
  LDAP: ldapErrors,
};

export interface CatalogueDomain {
  readonly title: string;
  /** In alphabetical order. */
  readonly entries: readonly (CatalogueEntry & { readonly code: LogCode })[];
}

/** All entries by domain, in the order of docs/errors.md. */
export const catalogue: readonly CatalogueDomain[] = Object.entries(domains).map(
  ([title, entries]) => ({
    title,
    entries: (Object.entries(entries) as [LogCode, CatalogueEntry][])
      .map(([code, entry]) => ({ code, ...entry }))
      .sort((a, b) => (a.code < b.code ? -1 : 1)),
  }),
);
