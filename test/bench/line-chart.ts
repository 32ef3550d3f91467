/** A line of a chart: points of x and y, both positive. */
export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
}

const [WIDTH, HEIGHT] = [760, 420];
const PLOT = { left: 70, right: 560, top: 50, bottom: 360 };
/** The colors of Okabe and Ito, which people with color blindness can distinguish. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'];

/** Draws lines on logarithmic axes, as an SVG document that depends on nothing else. */
export function lineChart(
  series: readonly Series[],
  { title, xLabel, yLabel }: ChartOptions,
): string {
  const points = series.flatMap((line) => line.points);
  const [xTicks, yTicks] = [0, 1].map((axis) =>
    powersOfTen(points.map((point) => point[axis] as number)),
  );
  const x = scale(xTicks as number[], PLOT.left, PLOT.right);
  const y = scale(yTicks as number[], PLOT.bottom, PLOT.top);

  const text = (content: string, at: readonly [number, number], attributes = '') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}"${attributes}>${escaped(content)}</text>`;
  const line = (x1: number, y1: number, x2: number, y2: number) =>
    `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" ` +
    `y2="${y2.toFixed(1)}" stroke="#ccc"/>`;
  const xAxis = (xTicks as number[]).flatMap((tick) => [
    line(x(tick), PLOT.top, x(tick), PLOT.bottom),
    text(tick.toLocaleString('en'), [x(tick), PLOT.bottom + 20], ' text-anchor="middle"'),
  ]);
  const yAxis = (yTicks as number[]).flatMap((tick) => [
    line(PLOT.left, y(tick), PLOT.right, y(tick)),
    text(tick.toLocaleString('en'), [PLOT.left - 8, y(tick) + 4], ' text-anchor="end"'),
  ]);
  const lines = series.flatMap((each, index) => {
    const color = COLORS[index % COLORS.length];
    const path = each.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`);
    const legend = PLOT.top + 10 + 24 * index;
    return [
      `<polyline points="${path.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...path.map(
        (point) =>
          `<circle cx="${point.split(',')[0]}" cy="${point.split(',')[1]}" r="3.5" ` +
          `fill="${color}"/>`,
      ),
      `<rect x="${PLOT.right + 20}" y="${legend - 8}" width="14" height="14" fill="${color}"/>`,
      text(each.name, [PLOT.right + 42, legend + 4]),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" ` +
      `width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<title>${escaped(title)}</title>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    text(title, [PLOT.left, 28], ' font-size="16"'),
    ...xAxis,
    ...yAxis,
    text(xLabel, [(PLOT.left + PLOT.right) / 2, PLOT.bottom + 44], ' text-anchor="middle"'),
    text(yLabel, [PLOT.left - 8, PLOT.top - 12], ' text-anchor="end"'),
    ...lines,
    '</svg>\n',
  ].join('\n');
}

/** The powers of ten that enclose some numbers. */
function powersOfTen(numbers: readonly number[]): number[] {
  const [first, last] = [
    Math.floor(Math.log10(Math.min(...numbers))),
    Math.ceil(Math.log10(Math.max(...numbers))),
  ];
  return Array.from({ length: Math.max(2, last - first + 1) }, (_, index) => 10 ** (first + index));
}

/** Maps numbers between the first and the last tick to coordinates, logarithmically. */
function scale(ticks: readonly number[], from: number, to: number): (number: number) => number {
  const [low, high] = [Math.log10(ticks[0] as number), Math.log10(ticks.at(-1) as number)];
  return (number) => from + ((Math.log10(number) - low) / (high - low)) * (to - from);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ENTITIES[character] as string);
