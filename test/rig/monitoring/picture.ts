import type { Sample } from './prometheus.ts';

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly custom?: { readonly stacking?: object };
      readonly thresholds?: { readonly steps: readonly { value: number | null; color: string }[] };
    };
  };
}

/** What a picture takes from a dashboard of Grafana. */
export interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
}

interface Line {
  readonly legend: string;
  readonly points: readonly (readonly [time: number, value: number])[];
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Pixels of a cell of Grafana's grid. */
const cell = { width: 50, height: 24 };
const gap = 4;
const top = 40;
const colors = ['#56a64b', '#3274d9', '#e0752d', '#c4162a', '#8f3bb8', '#b5a30a', '#37872d'];
const warnings: Readonly<Record<string, string>> = {
  green: '#37872d',
  orange: '#e0752d',
  red: '#c4162a',
};

/**
 * A dashboard as Grafana would show it, drawn with less: no Grafana can be installed here.
 *
 * @param range the answer of Prometheus over the time of the picture
 * @returns SVG
 */
export async function dashboardPicture(
  { title, panels }: Dashboard,
  range: (expr: string) => Promise<readonly Sample[]>,
): Promise<string> {
  const width = 24 * cell.width + gap;
  const height =
    top + cell.height * Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) + gap;
  const drawn: string[] = [];
  for (const panel of panels) {
    const { x, y, w, h } = panel.gridPos;
    const box: Box = {
      ...{ x: x * cell.width + gap, y: top + y * cell.height },
      ...{ width: w * cell.width - gap, height: h * cell.height - gap },
    };
    if (panel.type === 'row') drawn.push(text(box.x + 4, box.y + 16, panel.title, 15, '#1f2733'));
    else drawn.push(panelOf(panel, box, await linesOf(panel, range)));
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif" role="img" aria-label="${escaped(title)}">
<rect width="${width}" height="${height}" fill="#eef0f3"/>
${text(12, 26, title, 20, '#1f2733')}
${drawn.join('\n')}
</svg>
`;
}

async function linesOf(
  { targets = [] }: Panel,
  range: (expr: string) => Promise<readonly Sample[]>,
): Promise<Line[]> {
  const lines: Line[] = [];
  for (const { expr, legendFormat } of targets)
    for (const { metric, values = [] } of await range(expr)) {
      const legend = legendFormat.replace(
        /\{\{(\w+)\}\}/g,
        (_, label: string) => metric[label] ?? '',
      );
      const points = values.map(([time, value]) => [time, Number(value)] as const);
      lines.push({ legend, points: points.filter(([, value]) => Number.isFinite(value)) });
    }
  return lines.filter(({ points }) => points.length > 0);
}

function panelOf({ type, title, fieldConfig }: Panel, box: Box, lines: readonly Line[]): string {
  const { x, y, width, height } = box;
  const { unit = 'none', thresholds, custom } = fieldConfig?.defaults ?? {};
  const parts = [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="2" fill="#fff" stroke="#d8dce2"/>`,
    text(x + 8, y + 16, title, 11, '#1f2733'),
  ];
  if (type === 'stat') {
    const value = lines[0]?.points.at(-1)?.[1];
    const step = thresholds?.steps.findLast(
      (one) => value !== undefined && value >= (one.value ?? -Infinity),
    );
    const color = warnings[step?.color ?? ''] ?? '#6b7480';
    const shown = value === undefined ? '–' : withUnit(value, unit);
    parts.push(text(x + width / 2, y + height / 2 + 22, shown, 30, color, 'middle'));
  } else if (lines.length === 0)
    parts.push(text(x + width / 2, y + height / 2 + 6, 'No data', 13, '#6b7480', 'middle'));
  else parts.push(graph(box, unit, custom?.stacking === undefined ? lines : stacked(lines)));
  return parts.join('');
}

function graph({ x, y, width, height }: Box, unit: string, lines: readonly Line[]): string {
  const area = { left: x + 52, right: x + width - 8, top: y + 28, bottom: y + height - 38 };
  const times = lines.flatMap(({ points }) => points.map(([time]) => time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const most = Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value)), 0) || 1;
  const across = (time: number): number =>
    area.left + ((time - first) / (last - first || 1)) * (area.right - area.left);
  const up = (value: number): number =>
    area.bottom - (Math.max(value, 0) / most) * (area.bottom - area.top);
  const axes = [0, 0.5, 1].map((part) => {
    const at = up(part * most);
    return `<path d="M${area.left} ${at}H${area.right}" stroke="#e6e9ee"/>${text(area.left - 6, at + 4, withUnit(part * most, unit), 10, '#6b7480', 'end')}`;
  });
  const clock = [first, last].map((time, index) => {
    const shown = new Date(time * 1000).toISOString().slice(11, 16);
    const [at, anchor] = index === 0 ? [area.left, 'start'] : [area.right, 'end'];
    return text(at, area.bottom + 13, shown, 10, '#6b7480', anchor);
  });
  const drawn = lines.map(({ points }, index) => {
    const path = points.map(
      ([time, value]) => `${across(time).toFixed(1)},${up(value).toFixed(1)}`,
    );
    return `<polyline points="${path.join(' ')}" fill="none" stroke="${colorOf(index)}" stroke-width="1.5"/>`;
  });
  let right = x + 8;
  const legends = lines.map(({ legend }, index) => {
    const at = right;
    right += 22 + legend.length * 5.4;
    if (right > x + width) return '';
    return `<rect x="${at}" y="${y + height - 16}" width="10" height="3" fill="${colorOf(index)}"/>${text(at + 14, y + height - 11, legend, 10, '#454d57')}`;
  });
  return [...axes, ...clock, ...drawn, ...legends].join('');
}

/** Each line on the sum of those before it. */
function stacked(lines: readonly Line[]): readonly Line[] {
  const sums = new Map<number, number>();
  return lines.map(({ legend, points }) => ({
    legend,
    points: points.map(([time, value]) => {
      const sum = (sums.get(time) ?? 0) + value;
      sums.set(time, sum);
      return [time, sum] as const;
    }),
  }));
}

function withUnit(value: number, unit: string): string {
  if (unit === 'percentunit') return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === 'bytes' || unit === 'Bps') {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log2(value || 1) / 10)));
    const name = ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power] ?? '';
    return `${Number((value / 1024 ** power).toPrecision(3))} ${name}${unit === 'Bps' ? '/s' : ''}`;
  }
  if (unit !== 's') return String(Number(value.toPrecision(3)));
  const [per, name] = value >= 3600 ? [3600, 'h'] : value >= 60 ? [60, 'min'] : [1, 's'];
  return value < 1
    ? `${Number((value * 1000).toPrecision(2))} ms`
    : `${Number((value / per).toPrecision(2))} ${name}`;
}

function colorOf(index: number): string {
  return colors[index % colors.length] ?? '#000';
}

function text(
  x: number,
  y: number,
  shown: string,
  size: number,
  color: string,
  anchor = 'start',
): string {
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${color}" text-anchor="${anchor}">${escaped(shown)}</text>`;
}

function escaped(shown: string): string {
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
