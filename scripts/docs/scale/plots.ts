/** One plot of a cost over a size. */
export interface Panel {
  readonly title: string;
  /** Below the horizontal axis, for example `namespaces`. */
  readonly of: string;
  readonly unit: string;
  readonly points: readonly { readonly size: number; readonly value: number }[];
}

const width = 300;
const height = 200;
const columns = 3;
/** Around the area of the curve: for titles and numbers. */
const margin = { top: 34, right: 16, bottom: 40, left: 56 };

const style = `
text { font: 11px sans-serif; fill: #24292f }
.title { font-weight: bold }
.axis { stroke: #8c959f; fill: none }
.curve { stroke: #0969da; stroke-width: 2; fill: none }
circle { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .curve { stroke: #58a6ff }
  circle { fill: #58a6ff }
}`;

/** Plots side by side, as SVG. Both axes of each are linear and begin at 0, so that flat looks flat. */
export function plots(panels: readonly Panel[]): string {
  const rows = Math.ceil(panels.length / columns);
  const placed = panels.map((panel, index) => {
    const at = `${(index % columns) * width} ${Math.floor(index / columns) * height}`;
    return `<g transform="translate(${at})">\n${panelMarkup(panel)}</g>\n`;
  });
  const size = `width="${columns * width}" height="${rows * height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${columns * width} ${rows * height}" role="img" aria-label="Cost over size">
<style>${style}
</style>
${placed.join('')}</svg>
`;
}

function panelMarkup({ title, of, unit, points }: Panel): string {
  const most = {
    size: ceiling(points.map(({ size }) => size)),
    value: ceiling(points.map(({ value }) => value)),
  };
  const x = (size: number): number =>
    margin.left + (size / most.size) * (width - margin.left - margin.right);
  const y = (value: number): number =>
    height - margin.bottom - (value / most.value) * (height - margin.top - margin.bottom);
  const place = ({ size, value }: { size: number; value: number }): string =>
    `${x(size).toFixed(1)},${y(value).toFixed(1)}`;
  const label = (text: string, at: [number, number], anchor = 'middle', kind = ''): string =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" text-anchor="${anchor}"${kind}>${text}</text>\n`;
  const number = (value: number): string => value.toLocaleString('en');
  const base = height - margin.bottom;
  return [
    label(title, [margin.left, 18], 'start', ' class="title"'),
    `<path class="axis" d="M${margin.left},${margin.top}V${base}H${width - margin.right}"/>\n`,
    `<polyline class="curve" points="${points.map(place).join(' ')}"/>\n`,
    ...points.map((point) => {
      const [cx, cy] = place(point).split(',');
      return `<circle cx="${cx}" cy="${cy}" r="3"/>\n`;
    }),
    label('0', [margin.left - 6, base + 4], 'end'),
    label(`${number(most.value)} ${unit}`.trim(), [margin.left - 6, margin.top + 4], 'end'),
    label(number(most.size), [x(most.size), base + 15], 'end'),
    label(of, [(margin.left + width) / 2, base + 30]),
  ].join('');
}

/** The next number of one digit and zeros, or half of it, that is not smaller than any value. */
function ceiling(values: readonly number[]): number {
  const most = Math.max(...values, 1e-9);
  const power = 10 ** Math.floor(Math.log10(most));
  return (
    [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((one) => one * power).find((one) => one >= most) ?? most
  );
}
