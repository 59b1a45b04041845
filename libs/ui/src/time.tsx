import { relayNow } from './clock.js';
import { distanceText, timeText, utcText } from './times.js';

interface TimeProps {
  /** Epoch milliseconds, or a time as the API writes it. */
  readonly at: number | string;
  /** Whether only the distance from now is seen; the times are in the title. */
  readonly isShort?: boolean;
}

/** A time in the reader's zone, with UTC beside it and in the title. */
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
