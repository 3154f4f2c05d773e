/** A panel of a dashboard: a graph over time, or one number of now. */
export interface DashboardPanel {
  readonly title: string;
  /** A unit of Grafana, such as `s`, `bytes` or `percentunit`. */
  readonly unit: string;
  /** PromQL, and the legend: labels in `{{…}}`. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
  readonly description?: string;
  /** Of a number: from which value it is orange, and red. */
  readonly limits?: readonly [orange: number, red: number];
  readonly stacked?: boolean;
}

export interface DashboardRow {
  readonly title: string;
  /** One number each, before the graphs. */
  readonly numbers?: readonly DashboardPanel[];
  readonly graphs?: readonly DashboardPanel[];
}

export interface BerthDashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Such as `now-24h`. */
  readonly from: string;
  readonly rows: readonly DashboardRow[];
}

const datasource = { type: 'prometheus', uid: '${datasource}' };
/** Grafana's grid has 24 columns. */
const columns = 24;
const sizes = { number: { w: 4, h: 4 }, graph: { w: 8, h: 8 } };

/** The dashboard as Grafana imports it, in the schema of its version 8 and later. */
export function dashboardJson({ uid, title, description, from, rows }: BerthDashboard): object {
  const panels: object[] = [];
  let y = 0;
  const place = (of: readonly DashboardPanel[], kind: keyof typeof sizes): void => {
    const { w, h } = sizes[kind];
    const perLine = columns / w;
    for (const [index, panel] of of.entries()) {
      const x = (index % perLine) * w;
      const gridPos = { x, y: y + Math.floor(index / perLine) * h, w, h };
      panels.push({ id: panels.length + 1, gridPos, ...panelJson(panel, kind) });
    }
    y += Math.ceil(of.length / perLine) * h;
  };
  for (const row of rows) {
    const gridPos = { x: 0, y, w: columns, h: 1 };
    const header = { type: 'row', title: row.title, collapsed: false, panels: [] };
    panels.push({ id: panels.length + 1, gridPos, ...header });
    y += 1;
    place(row.numbers ?? [], 'number');
    place(row.graphs ?? [], 'graph');
  }
  return {
    ...{ uid, title, description, tags: ['berth'], schemaVersion: 39, editable: true },
    ...{ timezone: 'browser', time: { from, to: 'now' }, refresh: '1m' },
    templating: { list: variables },
    panels,
  };
}

const variables = [
  { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
  {
    ...{ name: 'host', label: 'Host', type: 'query', datasource, refresh: 2, sort: 1 },
    ...{ multi: true, includeAll: true, allValue: '.*' },
    query: 'label_values(berth_build_info, instance)',
    current: { text: ['All'], value: ['$__all'] },
  },
];

function panelJson(panel: DashboardPanel, kind: keyof typeof sizes): object {
  const { title, description, unit, queries, limits, stacked } = panel;
  const steps = [
    { value: null, color: 'green' },
    ...(limits ?? []).map((value, index) => ({ value, color: ['orange', 'red'][index] })),
  ];
  const custom = { fillOpacity: stacked === true ? 40 : 8, stacking: { mode: 'normal' } };
  const graph = {
    fieldConfig: {
      defaults: {
        ...{ unit, min: 0 },
        custom: stacked === true ? custom : { fillOpacity: custom.fillOpacity },
      },
      overrides: [],
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };
  const number = {
    fieldConfig: {
      defaults: { unit, thresholds: { mode: 'absolute', steps }, noValue: '–' },
      overrides: [],
    },
    options: {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      ...{ colorMode: 'value', graphMode: 'area' },
    },
  };
  return {
    type: kind === 'number' ? 'stat' : 'timeseries',
    ...{ title, description, datasource },
    targets: queries.map(([expr, legendFormat], index) => ({
      ...{ refId: String.fromCharCode(65 + index), datasource, expr, legendFormat },
    })),
    ...(kind === 'number' ? number : graph),
  };
}
