import { familyText, labelText, sampleName } from '../../../system/text/prometheus-text.ts';
import { families, type Family, type FamilyName } from './families.ts';

type Labels = Readonly<Record<string, string>>;

interface Histogram {
  /** How many were in each bucket, and not in a smaller one; the last is above all bounds. */
  readonly buckets: number[];
  sum: number;
}

/** Sums since boot, by the family and then by the labels as text. Plain data, which is kept as JSON. */
export interface Totals {
  readonly counters: Record<string, Record<string, number>>;
  readonly histograms: Record<string, Record<string, Histogram>>;
}

/** Series of one family: a site has some clusters and profiles. More are counted under empty labels. */
const mostSeries = 1_000;

export function emptyTotals(): Totals {
  return { counters: {}, histograms: {} };
}

/** Adds to a counter. */
export function count(totals: Totals, name: FamilyName, labels: Labels, by = 1): void {
  const family = (totals.counters[name] ??= {});
  const key = keyIn(family, labels);
  family[key] = (family[key] ?? 0) + by;
}

/** Adds an observation to a histogram; nothing if there is none. */
export function observe(
  totals: Totals,
  name: FamilyName,
  labels: Labels,
  value: number | undefined,
): void {
  if (value === undefined) return;
  const bounds = (families[name] as Family).buckets ?? [];
  const family = (totals.histograms[name] ??= {});
  const histogram = (family[keyIn(family, labels)] ??= {
    buckets: [...bounds.map(() => 0), 0],
    sum: 0,
  });
  const at = bounds.findIndex((bound) => value <= bound);
  const bucket = at < 0 ? bounds.length : at;
  histogram.buckets[bucket] = (histogram.buckets[bucket] ?? 0) + 1;
  histogram.sum += value;
}

/** A gauge and what it is now: by the value of its label, or one value. */
export type Gauges = Partial<Record<FamilyName, number | ReadonlyMap<string, number>>>;

/** Prometheus's text format 0.0.4: all families that have a value, in the order of `families`. */
export function metricsText(totals: Totals, gauges: Gauges): string {
  return Object.entries(families)
    .map(([name, family]) => {
      const samples = samplesOf(name, family, totals, gauges[name as FamilyName]);
      return samples.length === 0 ? '' : familyText({ name, ...family }, samples);
    })
    .join('');
}

function samplesOf(
  name: string,
  family: Family,
  totals: Totals,
  gauge: Gauges[FamilyName],
): string[] {
  if (family.type === 'counter')
    return Object.entries(totals.counters[name] ?? noLabels(family)).map(
      ([labels, value]) => `${sampleName(name, labels)} ${value}`,
    );
  if (family.type === 'histogram')
    return Object.entries(totals.histograms[name] ?? {}).flatMap(([labels, histogram]) =>
      histogramSamples(name, labels, family.buckets ?? [], histogram),
    );
  if (gauge === undefined) return [];
  if (typeof gauge === 'number') return [`${name} ${gauge}`];
  const [label = ''] = Object.keys(family.labels);
  return [...gauge].map(
    ([of, value]) => `${sampleName(name, labelsText({ [label]: of }))} ${value}`,
  );
}

/** A counter without labels begins at 0, so that its first event is an increase. */
function noLabels({ labels }: Family): Record<string, number> {
  return Object.keys(labels).length === 0 ? { '': 0 } : {};
}

function histogramSamples(
  name: string,
  labels: string,
  bounds: readonly number[],
  { buckets, sum }: Histogram,
): string[] {
  let total = 0;
  const lines = [...bounds, '+Inf'].map((bound, at) => {
    total += buckets[at] ?? 0;
    const all = [...(labels === '' ? [] : [labels]), `le="${bound}"`].join(',');
    return `${name}_bucket{${all}} ${total}`;
  });
  return [
    ...lines,
    `${sampleName(`${name}_sum`, labels)} ${sum}`,
    `${sampleName(`${name}_count`, labels)} ${total}`,
  ];
}

function keyIn(family: Readonly<Record<string, unknown>>, labels: Labels): string {
  const key = labelsText(labels);
  if (Object.hasOwn(family, key) || Object.keys(family).length < mostSeries) return key;
  return labelsText(Object.fromEntries(Object.keys(labels).map((label) => [label, ''])));
}

function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .map(([label, value]) => labelText(label, value.slice(0, 200)))
    .join(',');
}
