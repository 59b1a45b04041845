// Small charts side by side as one SVG picture, readable on a light and on a dark page.
const WIDTH = 380;
const HEIGHT = 250;
const COLUMNS = 2;
const PLOT = { left: 56, top: 58, right: 364, bottom: 212 };
const TICKS = 4;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #57606a }
  .title { font-size: 14px; font-weight: 600; fill: #1f2328 }
  .grid { stroke: #8c959f; stroke-opacity: 0.35 }
  .line { fill: none; stroke-width: 2 }
  .s0 { stroke: #0969da; fill: #0969da } .s1 { stroke: #bc4c00; fill: #bc4c00 }
  .line.s0, .line.s1 { fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 }
    .title { fill: #f0f6fc }
    .s0 { stroke: #4493f8; fill: #4493f8 } .s1 { stroke: #f0883e; fill: #f0883e }
  }`;

const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const text = (x, y, content, attributes = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escaped(content)}</text>`;
const MIDDLE = 'text-anchor="middle"';

/** The least of 1, 2, 2.5 and 5 times a power of ten that is not below the value. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((round) => round >= value * (1 - 1e-9));
}

/**
 * @param charts each with a title, the label of its x axis, its `labels` along it, and one or two `series` of as many values: `bars`
 * are drawn as bars, others as lines
 */
export function svgOf(description, charts) {
  const rows = Math.ceil(charts.length / COLUMNS);
  const place = (index) => `translate(${(index % COLUMNS) * WIDTH} ${Math.floor(index / COLUMNS) * HEIGHT})`;
  const groups = charts.map((chart, index) => `<g transform="${place(index)}">\n${chartOf(chart).join('\n')}\n</g>`);
  const size = `${WIDTH * COLUMNS} ${HEIGHT * rows}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" role="img">
<title>${escaped(description)}</title>
<style>${STYLE}
</style>
${groups.join('\n')}
</svg>
`;
}

function chartOf({ title, axis, labels, series, bars = false }) {
  const top = roundUp(Math.max(1e-9, ...series.flatMap(({ values }) => values)));
  const y = (value) => PLOT.bottom - ((PLOT.bottom - PLOT.top) * value) / top;
  const step = (PLOT.right - PLOT.left) / labels.length;
  const x = (index) => PLOT.left + step * (index + 0.5);
  const ticks = Array.from({ length: TICKS + 1 }, (_, index) => (top * index) / TICKS);
  return [
    text(PLOT.left - 40, 20, title, 'class="title"'),
    ...series.flatMap(({ name }, index) => legend(name, index, series)),
    ...ticks.flatMap((tick) => [
      `<path class="grid" d="M${PLOT.left} ${y(tick).toFixed(1)}H${PLOT.right}"/>`,
      text(PLOT.left - 6, y(tick) + 4, Number(tick.toPrecision(3)).toLocaleString('en-US'), 'text-anchor="end"'),
    ]),
    ...labels.map((label, index) => text(x(index), PLOT.bottom + 16, label, MIDDLE)),
    text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 32, axis, MIDDLE),
    ...series.flatMap(({ values }, of) => (bars ? barsOf(values, x, y, step, of) : lineOf(values, x, y, of))),
  ];
}

function legend(name, index, series) {
  if (name === undefined) return [];
  const before = series.slice(0, index).reduce((sum, each) => sum + each.name.length * 6.5 + 40, 0);
  const from = PLOT.left - 40 + before;
  return [`<path class="line s${index}" d="M${from} 38h16"/>`, text(from + 22, 42, name)];
}

function lineOf(values, x, y, of) {
  const points = values.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
  const dots = points
    .map((point) => point.split(' '))
    .map(([cx, cy]) => `<circle class="s${of}" cx="${cx}" cy="${cy}" r="3"/>`);
  return [`<path class="line s${of}" d="M${points.join('L')}"/>`, ...dots];
}

const barsOf = (values, x, y, step, of) =>
  values.map((value, index) => {
    const width = step * 0.5;
    const [left, height] = [x(index) - width / 2, PLOT.bottom - y(value)];
    return `<rect class="s${of}" x="${left.toFixed(1)}" y="${y(value).toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"/>`;
  });
