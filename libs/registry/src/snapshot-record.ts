import { z } from 'zod';

/** A record of a snapshot in the log; `at` is epoch milliseconds. */
export const SnapshotRecord = z.object({
  v: z.literal(1),
  id: z.string(),
  entity: z.literal('snapshot'),
  command: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('begin'), snapshot: z.string() }),
    z.object({
      kind: z.literal('restore'),
      snapshot: z.string(),
      n: z.number(),
      part: z.string(),
      items: z.array(z.string()),
    }),
    z.object({
      kind: z.literal('end'),
      snapshot: z.string(),
      records: z.number(),
      counts: z.record(z.string(), z.number()),
      at: z.number(),
    }),
    z.object({ kind: z.literal('abort'), snapshot: z.string() }),
  ]),
});
export type SnapshotCommand = z.infer<typeof SnapshotRecord>['command'];

/** The snapshot's command in a record of the log; undefined for any other record. */
export function snapshotCommandOf(value: Buffer): SnapshotCommand | undefined {
  try {
    return SnapshotRecord.safeParse(JSON.parse(value.toString('utf8'))).data?.command;
  } catch {
    return undefined;
  }
}

/** Reads a snapshot in the log record by record from its first. */
export class SnapshotReading {
  #snapshot: string | undefined;
  #next = 0;
  #isWhole = false;

  /** Whether the snapshot is whole. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether it takes more records to know. */
  take(value: Buffer): boolean {
    const command = snapshotCommandOf(value);
    if (this.#snapshot === undefined) {
      this.#snapshot = command?.kind === 'begin' ? command.snapshot : undefined;
      return this.#snapshot !== undefined;
    }
    if (command?.snapshot !== this.#snapshot) return true;
    if (command.kind === 'restore' && command.n === this.#next) this.#next += 1;
    this.#isWhole = command.kind === 'end' && command.records === this.#next;
    return command.kind === 'restore' || command.kind === 'begin';
  }
}
