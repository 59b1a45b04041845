/** A record as Kafka holds it. */
export interface LogRecord {
  offset: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
  /** Milliseconds since the epoch. */
  timestamp: number;
}
