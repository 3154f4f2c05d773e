import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { admissionManifests } from '../../../src/kube/admission/render-admission.ts';
import { siteAdmission } from '../../../src/kube/admission/admission-settings.ts';

const text = readFileSync(
  new URL('../../../etc/gitops/cluster-api/stackhpc.yaml', import.meta.url),
  'utf8',
);

/** The models of capi_addons/models/v1alpha1 in cluster-api-addon-provider, as far as the file uses them. */
const name = z.string().regex(/^[a-z0-9-]+$/);
const addon = {
  clusterName: z.string().min(1),
  bootstrap: z.boolean().optional(),
  targetNamespace: name,
  releaseName: name.optional(),
  releaseTimeout: z.union([z.int(), z.string()]).optional(),
};
const helmRelease = z.strictObject({
  ...addon,
  chart: z.strictObject({
    repo: z.url(),
    name,
    version: z.string().regex(/^v?\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/),
  }),
  valuesSources: z.array(z.strictObject({ template: z.string().min(1) })),
});
const source = z.strictObject({ name, keys: z.array(z.string()).optional() });
const manifests = z.strictObject({
  ...addon,
  manifestSources: z.array(z.strictObject({ configMap: source })),
});

it('has objects that the provider accepts', () => {
  const kinds = { HelmRelease: helmRelease, Manifests: manifests } as const;
  const documents = parseAllDocuments(text).map(
    (one) => one.toJS() as { apiVersion: string; kind: keyof typeof kinds; spec: unknown },
  );

  expect(documents.map(({ kind }) => kind)).toEqual(Object.keys(kinds));
  for (const { apiVersion, kind, spec } of documents) {
    expect(apiVersion).toBe('addons.stackhpc.com/v1alpha1');
    expect(kinds[kind].safeParse(spec).error).toBeUndefined();
  }
});

it('uses variables that the provider has', () => {
  // `cluster` is the Cluster: capi_addons/models/v1alpha1/helm_release.py.
  expect(text.match(/\{[{%#].*?\}\}/g)).toEqual(['{{ cluster.metadata.name }}']);
});

it('names the ConfigMap that its comment creates, in its own namespace', () => {
  const [, namespace, configMap] =
    /kubectl -n (\S+) create configmap (\S+) --from-file=policies\.yaml$/m.exec(text) ?? [];
  const [, second] = parseAllDocuments(text);

  expect(second?.getIn(['metadata', 'namespace'])).toBe(namespace);
  expect(second?.getIn(['spec', 'manifestSources', 0, 'configMap', 'name'])).toBe(configMap);
});

it('has policies that the provider does not take for Jinja templates', () => {
  const policies = JSON.stringify(admissionManifests('kubernetes', siteAdmission()));

  expect(policies).toContain('ValidatingAdmissionPolicy');
  expect(policies).not.toMatch(/\{[{%#]/);
});
