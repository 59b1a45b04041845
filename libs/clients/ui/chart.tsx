import { useState } from 'preact/hooks';
import { Table, type Kind } from './parts.js';
import { countText } from './times.js';

/** @property values one for each step; null if there is none */
export interface Series {
  readonly name: string;
  readonly kind: Kind;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  /** When each step begins, in the format of the API, oldest first. */
  readonly at: readonly string[];
  readonly stepMs: number;
  /** Bars are stacked, the first series below the others. */
  readonly shape: 'bars' | 'lines';
  readonly series: readonly Series[];
  readonly text?: (value: number) => string;
}

/** Draws values over time, in the user's time zone. Pointer and arrow keys choose a step, whose values are shown. */
export function Chart({ title, at, stepMs, shape, series, text = countText }: ChartProps) {
  const [chosen, choose] = useState<number>();
  const [times, last] = [at.map((each) => Date.parse(each)), at.length - 1];
  const shown = chosen === undefined ? undefined : Math.min(Math.max(0, chosen), last);
  const stacks = shape === 'bars' ? [series] : series.map((one) => [one]);
  const top = roundUp(Math.max(...stacks.flatMap((stack) => at.map((_, n) => sumAt(stack, n)))));
  const wordsAt = (n: number): string[] =>
    series.map(({ name, values: { [n]: value } }) => `${name} ${value == null ? '–' : text(value)}`);
  const timeAt = (n: number): string => {
    const begin = times[n] ?? Number.NaN;
    return `${dayText(begin)}, ${clockText(begin)} – ${clockText(begin + stepMs)}`;
  };
  const legendOf = (words: readonly string[]) =>
    series.map(({ name, kind }, index) => (
      <span key={name} class={`legend ${kind}`}>
        {words[index]}
      </span>
    ));
  const press = (event: KeyboardEvent): void => {
    const moves = { ArrowLeft: (shown ?? at.length) - 1, ArrowRight: (shown ?? last) + 1, Escape: undefined };
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose(moves[event.key as keyof typeof moves]);
  };
  const point = ({ clientX, currentTarget }: PointerEvent & { readonly currentTarget: Element }): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    choose(Math.floor(((clientX - left) / width) * at.length));
  };
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        {legendOf(series.map(({ name }) => name))}
      </figcaption>
      <div
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={title}
        aria-valuemax={last}
        aria-valuenow={shown ?? last}
        aria-valuetext={`${timeAt(shown ?? last)}: ${wordsAt(shown ?? last).join(', ')}`}
        onKeyDown={press}
        onBlur={() => choose(undefined)}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => choose(undefined)}
      >
        <svg viewBox={`0 0 ${at.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          {shown !== undefined && <rect class="chosen" x={shown} y="0" width="1" height="100" />}
          <path class="grid" d={[0, 50, 100].map((y) => `M0 ${y}H${at.length}`).join('')} />
          {series.map(({ name, kind, values }, index) => {
            const path = shape === 'lines' ? lineOf(values, top) : barsOf(values, series.slice(0, index), top);
            return <path key={name} class={`${shape} ${kind}`} d={path} />;
          })}
        </svg>
        {[top, top / 2].filter(Number.isInteger).map((tick) => (
          <span key={tick} class="tick" style={{ top: tick === top ? '0' : '50%' }}>
            {text(tick)}
          </span>
        ))}
        {labelsOf(times, stepMs).map(({ n, words }) => (
          <span key={n} class="label" style={placeAt(n / at.length)}>
            {words}
          </span>
        ))}
        {shown !== undefined && (
          <div class="tip" style={placeAt((shown + 0.5) / at.length)}>
            <strong>{timeAt(shown)}</strong>
            {legendOf(wordsAt(shown))}
          </div>
        )}
      </div>
      <details>
        <summary>Show as a table</summary>
        <Table
          caption={title}
          rows={[...at.keys()].toReversed()}
          keyOf={String}
          columns={[
            { name: 'Time', cell: timeAt },
            { name: 'Values', cell: (n) => wordsAt(n).join(', ') },
          ]}
        />
      </details>
    </figure>
  );
}

/** Places a box at a share of the width, so that it is never outside. */
const placeAt = (share: number) => ({ left: `${100 * share}%`, transform: `translateX(${-100 * share}%)` });

const sumAt = (of: readonly Series[], n: number): number => of.reduce((sum, { values }) => sum + (values[n] ?? 0), 0);

/** Returns the least of 1, 2, 4, 10, 20, 40 and so on that is no less. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return power * ([1, 2, 4].find((each) => each * power >= value) ?? 10);
}

const barsOf = (values: Series['values'], below: readonly Series[], top: number): string =>
  values.map((value, n) => `M${n + 0.1} ${fall(sumAt(below, n), top)}h.8v${(-100 * (value ?? 0)) / top}h-.8z`).join('');
const fall = (value: number, top: number): number => 100 - (100 * value) / top;

/** A step without a value interrupts the line. */
const lineOf = (values: Series['values'], top: number): string =>
  values
    .flatMap((value, n) =>
      value === null ? [] : [values[n - 1] == null ? 'M' : 'L', n + 0.1, ' ', fall(value, top), 'h.8'],
    )
    .join('');

const clockText = (at: number): string =>
  new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayText = (at: number): string => new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
const SPACINGS = [5, 15, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS);

/** Returns up to seven steps with their local times. Each is the first one at or after a round time. */
export function labelsOf(times: readonly number[], stepMs: number) {
  const spacing = SPACINGS.find((each) => (times.length * stepMs) / each <= 6) ?? 7 * DAY_MS;
  return times.flatMap((at, n) => {
    const local = at - new Date(at).getTimezoneOffset() * MINUTE_MS;
    const words = local % DAY_MS < stepMs ? dayText(at) : clockText(at);
    return local % spacing < stepMs ? [{ n, words }] : [];
  });
}
