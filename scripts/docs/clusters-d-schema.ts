import type { JsonSchema } from './json-schema.ts';

/**
 * What Berth reads in OnDemand's files of clusters.d. `src/config/schema/ood-cluster-file.ts` reads them by hand, as OnDemand does;
 * test/unit/docs/schemas.test.ts compares the two. OnDemand's other keys are allowed.
 */
export const clustersDSchema: JsonSchema = section({
  v2: section({
    job: section({
      adapter: { type: 'string' },
      cluster: text(),
      context: text(),
      config_file: text(),
      username_prefix: text(),
      namespace_prefix: text(),
      server: section({
        endpoint: { type: 'string', pattern: '^https://[^\\s@]+$' },
        cert_authority_file: { type: 'string', pattern: '^/' },
      }),
      auth: section({ type: { enum: ['managed', 'oidc', 'odic', 'gke'] } }),
    }),
  }),
});

/** A new object for each key: the description is written into it. */
function text(): JsonSchema {
  return { type: ['string', 'number'] };
}

function section(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties };
}
