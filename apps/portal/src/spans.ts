/** Spans of time up to now. */
export const SPANS = [
  ['', 'always'],
  ['1h', 'one hour ago'],
  ['24h', 'a day ago'],
  ['168h', 'seven days ago'],
] as const;

/** When a span began, as the API writes it; undefined for none. */
export function spanSince(span: string | undefined, nowMs: number): string | undefined {
  const hours = /^(\d{1,4})h$/.exec(span ?? '')?.[1];
  return hours === undefined ? undefined : new Date(nowMs - Number(hours) * 3_600_000).toISOString();
}
