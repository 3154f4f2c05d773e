import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Site } from '../site/site.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Definition extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/**
 * Writes JSON Schemas for kubeconform, in which unknown fields are errors: of all kinds that the site's API server
 * has, from its OpenAPI.
 *
 * @returns the value of `-schema-location`
 */
export async function writeApiSchemas(site: Site, directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const { exitCode, stdout, stderr } = await site.kubectl(['get', '--raw', '/openapi/v2']);
  if (exitCode !== 0) throw new Error(stderr);
  const { definitions } = JSON.parse(stdout) as { definitions: Record<string, Definition> };
  const file = join(directory, 'definitions.json');
  const strict = Object.entries(definitions).map(([name, one]) => [name, strictSchema(one)]);
  await writeFile(file, JSON.stringify({ definitions: Object.fromEntries(strict) as object }));
  for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(
    definitions,
  ))
    for (const { group, version, kind } of kinds)
      await writeFile(
        // The core group is that of its version to kubeconform.
        join(directory, `${[kind.toLowerCase(), group || version, version].join('_')}.json`),
        JSON.stringify({ $ref: `definitions.json#/definitions/${name}` }),
      );
  return join(directory, '{{.ResourceKind}}_{{.Group}}_{{.ResourceAPIVersion}}.json');
}

/** As Kubernetes means it: only the named fields, and numbers where `int-or-string` or a quantity is asked for. */
function strictSchema(schema: unknown, name = ''): unknown {
  if (Array.isArray(schema)) return schema.map((one) => strictSchema(one));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { format, ...rest } = schema as Schema;
  if (format === 'int-or-string') return {};
  if (typeof rest.description === 'string' && rest.description.startsWith('Quantity is a fixed'))
    return { type: ['string', 'number'] };
  const closed =
    rest.type === 'object' &&
    typeof rest.properties === 'object' &&
    name !== 'properties' &&
    !('additionalProperties' in rest)
      ? { additionalProperties: false }
      : {};
  const inner = Object.entries(rest).map(([key, value]) => [key, strictSchema(value, key)]);
  return { ...(Object.fromEntries(inner) as object), ...closed };
}
