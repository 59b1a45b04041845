const MINUTE_S = 60;
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', MINUTE_S],
  ['second', 1],
] as const;

/** Formats date and time to the second, in the given time zone or by default in the user's. */
export const timeText = (at: Date, timeZone?: string): string =>
  new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(at);

/** Formats the time of day to the second, in the user's time zone. */
export const clockText = (at: number | string): string => new Date(at).toLocaleTimeString('en-GB');

/** Formats the time in UTC, to the second. */
export const utcText = (at: Date): string => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Formats the distance from now, such as `3 minutes ago` or `in 2 hours`. */
export function distanceText(at: Date, nowMs: number): string {
  const seconds = Math.round((at.getTime() - nowMs) / 1_000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.round(seconds / size), unit);
}

/** Formats a duration, for example `85 ms`, `1.3 s`, `4 min 5 s`, `2 h 3 min`, `4 d 1 h`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < MINUTE_S) return `${seconds.toFixed(1).replace('.0', '')} s`;
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 86_400), Math.floor(whole / 3_600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  const named = parts.map((part, index) => ({ part, name: ['d', 'h', 'min', 's'][index] }));
  const first = named.findIndex(({ part }) => part > 0);
  return named
    .slice(first, first + 2)
    .filter(({ part }) => part > 0)
    .map(({ part, name }) => `${part} ${name}`)
    .join(' ');
}

/** Formats a number with separators between thousands. */
export const countText = (count: number): string => new Intl.NumberFormat('en').format(count);

/** Formats a number with its noun: `1 webhook`, `2 webhooks`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

/** Formats a size, for example `312 B`, `4.2 KiB`, `1.5 MiB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const size = bytes / 1_024 ** power;
  return `${power === 0 ? size : size.toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB'][power]}`;
}

/**
 * A clock that differs by less than this is treated as correct. The header `date` has whole seconds, and the response takes
 * a moment to arrive.
 */
const RIGHT_MS = 5_000;

let aheadMs = 0;

/** Measures how far the user's clock is ahead of the relay's clock, from the headers of a response. */
export function learnClock(headers: Headers): void {
  const at = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(at)) return;
  const ahead = Date.now() - at;
  aheadMs = Math.abs(ahead) > RIGHT_MS ? ahead : 0;
}

/**
 * Returns the time by the relay's clock in epoch milliseconds. Times that the relay recorded must be compared with this
 * time.
 */
export const relayNow = (): number => Date.now() - aheadMs;

interface TimeProps {
  /** Epoch milliseconds, or a time in the format of the API. */
  readonly at: number | string;
  /** If true, only the distance from now is visible, and the tooltip shows the times. */
  readonly isShort?: boolean;
}

/**
 * Shows a time. The long form shows the local time and UTC, and the distance from now in the tooltip. The short form shows
 * the distance, and both times in the tooltip.
 */
export function Time({ at, isShort = false }: TimeProps) {
  const date = new Date(at);
  const [local, utc] = [timeText(date), utcText(date)];
  const distance = distanceText(date, relayNow());
  return (
    <time dateTime={date.toISOString()} title={isShort ? `${local} (${utc})` : distance}>
      {isShort ? (
        distance
      ) : (
        <>
          {local} <span class="quiet zone">{date.getTimezoneOffset() === 0 ? 'UTC' : utc.slice(11)}</span>
        </>
      )}
    </time>
  );
}
