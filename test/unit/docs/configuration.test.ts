import type * as z from 'zod/mini';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { clusterSchema, parseBerthYml, siteSchema } from '../../../src/config/berth-yml.ts';
import { builtIn } from '../../../src/config/built-in.ts';
import { codeBlocks, pages, tableRows } from '../../docs/markdown.ts';

const page = 'docs/configuration.md';
const rows = tableRows(page, 'key');
const described = rows.map(([key = '']) => key);
const builtInOf = (key: string): string => rows.find(([name]) => name === key)?.[1] ?? 'not there';

describe('docs/configuration.md', () => {
  it('describes every key of berth.yml, and no other', () => {
    const keys = [...keysOf(siteSchema), ...keysOf(clusterSchema)];

    expect(described.filter((key) => /^[a-z]/.test(key)).sort()).toEqual(keys.sort());
  });

  it('says what is built in', () => {
    expect({
      minimumUid: Number(builtInOf('minimum_uid')),
      deadlineMs: Number(builtInOf('deadline').replace(/s$/, '')) * 1000,
      stateDir: builtInOf('state_dir'),
      kubeCredentialCommand: builtInOf('kube_credential'),
      adminKubeconfig: builtInOf('admin.kubeconfig'),
      hookEnvFile: builtInOf('hook_env'),
      clustersDir: builtInOf('clusters_dir'),
    }).toEqual(builtIn);
  });
});

describe.each(pages)('the berth.yml in %s', (name) => {
  it('is one that Berth accepts', () => {
    const examples = codeBlocks(name).filter(({ text }) =>
      text.startsWith('# /etc/berth/berth.yml'),
    );
    for (const { text } of examples) expect(() => parseBerthYml(parse(text), name)).not.toThrow();
  });
});

/** Dotted paths of all keys below which the schema knows no more. */
function keysOf(schema: z.core.$ZodType, path = ''): string[] {
  // `defaults` holds what `clusters.NAME` holds: the page has one table for both.
  const shape = path === 'defaults' ? undefined : shapeOf(schema);
  if (shape === undefined) return [path];
  return Object.entries(shape).flatMap(([key, inner]) =>
    keysOf(inner, path === '' ? key : `${path}.${key}`),
  );
}

function shapeOf(schema: z.core.$ZodType): Record<string, z.core.$ZodType> | undefined {
  const { innerType, shape } = schema._zod.def as {
    innerType?: z.core.$ZodType;
    shape?: Record<string, z.core.$ZodType>;
  };
  return innerType === undefined ? shape : shapeOf(innerType);
}
