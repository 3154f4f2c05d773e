import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lostFields } from '../../../scripts/docs/output-fields.ts';
import { outputSchemaPages } from '../../../scripts/docs/output-schemas.ts';
import type { JsonSchema } from '../../../scripts/docs/json-schema.ts';

const kinds = outputSchemaPages.map(({ path }) => basename(path, '.schema.json'));

describe('the schemas of what commands print', () => {
  it('are of the kinds that commands print, and of no other', () => {
    const sources = globSync(['src/cli/**/*.ts', 'src/companions/*/*.ts']).map((file) =>
      readFileSync(file, 'utf8'),
    );
    const printed = sources.flatMap((text) =>
      [...text.matchAll(/(?:documentText(?:<\w+>)?\('|kind: ')([A-Z][a-z]\w+)'/g)].map(
        ([, kind = '']) => kind,
      ),
    );
    const ofKubernetes = new Set(['List']);
    expect([...new Set(printed)].filter((kind) => !ofKubernetes.has(kind)).sort()).toEqual(
      kinds.toSorted(),
    );
    const files = globSync('etc/schema/output/*').map((file) => basename(file, '.schema.json'));
    expect(files.sort()).toEqual(kinds.toSorted());
  });

  const name: JsonSchema = { type: 'string' };
  const list = (entry: JsonSchema, required = ['name']): JsonSchema => ({
    type: 'object',
    properties: {
      list: {
        type: 'array',
        items: { type: 'object', properties: { name, other: entry }, required },
      },
    },
    required: ['list'],
  });
  const before = list({ type: 'number' }, ['name', 'other']);

  it.each<[what: string, after: JsonSchema, lost: string[]]>([
    ['nothing', before, []],
    [
      'a new field',
      { ...before, properties: { ...before.properties, more: { type: 'boolean' } } },
      [],
    ],
    [
      'a field that is gone',
      { type: 'object', properties: {} },
      [
        ...['list, which is gone', 'list[], which is gone', 'list[].name, which is gone'],
        'list[].other, which is gone',
      ],
    ],
    [
      'another type',
      list({ type: 'string' }, ['name', 'other']),
      ['list[].other as number, which may be string'],
    ],
    [
      'null',
      list({ anyOf: [{ type: 'number' }, { type: 'null' }] }, ['name', 'other']),
      ['list[].other as number, which may be null'],
    ],
    ['a field that is left out', list({ type: 'number' }), ['list[].other, which may be left out']],
  ])('notice %s', (_what, after, lost) => {
    expect(lostFields(before, after)).toEqual(lost);
  });

  it('notice what one of several alternatives lacks', () => {
    const value = (required: string[]): JsonSchema => ({
      anyOf: [{ type: 'object', properties: { name }, required }, { type: 'null' }],
    });
    expect(lostFields(list(value(['name'])), list(value([])))).toEqual([
      'list[].other.name, which may be left out',
    ]);
  });
});
