import { globSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';
import { describe, expect, it } from 'vitest';

const schema = new URL('../../../node_modules/@grafana/schema/dist/types/', import.meta.url)
  .pathname;

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly options?: object;
  readonly fieldConfig?: { readonly defaults: { readonly custom?: object } };
}

/** Whether a value has a type of Grafana, and no field that the type does not have. */
function accepts(file: string, type: string, required = true): (value: unknown) => unknown {
  const generated = createGenerator({
    ...{ path: schema + file, type, skipTypeCheck: true, expose: 'all' },
    additionalProperties: false,
  }).createSchema(type);
  const text = JSON.stringify(generated, (key, value: unknown) =>
    !required && key === 'required' ? undefined : value,
  );
  const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(text) as object);
  return (value) => (validate(value) ? [] : validate.errors);
}

describe.each(globSync('etc/grafana/*.json'))('%s', (file) => {
  const dashboard = JSON.parse(readFileSync(file, 'utf8')) as { readonly panels: readonly Panel[] };
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');

  it("is a dashboard in Grafana's schema", { timeout: 120_000 }, () => {
    expect(accepts('raw/dashboard/x/types.gen.d.ts', 'Dashboard')(dashboard)).toEqual([]);
  });

  it.each(['timeseries', 'stat'])('has options that %s has', { timeout: 120_000 }, (plugin) => {
    const path = `raw/composable/${plugin}/panelcfg/x/types.gen.d.ts`;
    const options = accepts(path, 'Options', false);
    for (const panel of panels.filter(({ type }) => type === plugin))
      expect(options(panel.options)).toEqual([]);
    if (plugin === 'timeseries') {
      const custom = accepts(path, 'FieldConfig', false);
      for (const { type, fieldConfig } of panels)
        if (type === plugin) expect(custom(fieldConfig?.defaults.custom)).toEqual([]);
    }
  });

  it('has panels that do not overlap, each with a title of its own', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });
});
