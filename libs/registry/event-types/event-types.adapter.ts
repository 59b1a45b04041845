import { type AppliedEventType, eventTypes, isEventType } from '@relay/events';
import type { JsonFault } from '@relay/json';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { EventTypeRecord } from './event-type.js';
import { eventTypeKeys } from './event-type.script.js';
import { compilePayloadSchema, sampleOf } from './payload-schema.js';

export interface EventTypeCommand {
  readonly kind: 'put';
  readonly name: string;
  /** The stored text that the record replaces, or ''. */
  readonly from: string;
  readonly record: string;
  /** Maximum of types that are not archived. */
  readonly limit?: number;
}

const Result = z.object({ kind: z.enum(['put', 'stale', 'limit']) });
const [TYPES, VERSION, FORMER] = eventTypeKeys;

/** A stored type, and the text by which a change names the version that it replaces. */
export interface StoredType {
  readonly record: EventTypeRecord;
  readonly text: string;
}

/** The event types in Redis. Every method rejects while Redis is away or may have lost writes. */
export class EventTypeStore {
  constructor(
    private readonly redis: Redis,
    private readonly registry: Pick<LogView<EventTypeCommand>, 'current' | 'catchUp' | 'change'>,
  ) {}

  /** Returns all types by name, archived ones among them. */
  async all(): Promise<ReadonlyMap<string, StoredType>> {
    await this.registry.current();
    const found = Object.entries(await this.redis.hgetall(TYPES)).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return new Map(found.map(([name, text]) => [name, { record: EventTypeRecord.parse(JSON.parse(text)), text }]));
  }

  /** Replaces what was read; `stale` if it was changed since. */
  async put(
    record: EventTypeRecord,
    before: StoredType | undefined,
    limit?: number,
  ): Promise<'put' | 'stale' | 'limit'> {
    const { name } = record;
    const command = { kind: 'put', name, from: before?.text ?? '', record: JSON.stringify(record) } as const;
    const result = await this.registry.change(limit === undefined ? command : { ...command, limit });
    return Result.parse(result).kind;
  }

  /** Returns the last record of the type with a former schema; undefined if there is none, or none any more. */
  async former(name: string, revision: number): Promise<EventTypeRecord | undefined> {
    await this.registry.current();
    const text = await this.redis.hget(FORMER, `${name}/${revision}`);
    return text === null ? undefined : EventTypeRecord.parse(JSON.parse(text));
  }

  /** Returns a version that differs after each change. */
  async version(): Promise<string> {
    await this.registry.current();
    return (await this.redis.get(VERSION)) ?? '';
  }
}

/** How long in ms a change takes at most to reach a process. */
const LOOK_MS = 1_000;

/** Gives the process the event types of the registry, and those of later changes. */
export class EventTypesView {
  #version: string | undefined;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** By the stored text, so that a change of one type compiles no schema of another again. */
  #applied: ReadonlyMap<string, AppliedEventType> = new Map();

  constructor(
    private readonly store: Pick<EventTypeStore, 'all' | 'version'>,
    private readonly hasBuiltIn: boolean,
  ) {}

  /** Concurrent calls share one read. Rejects while Redis is away; the types then stay as they are. */
  refresh(): Promise<void> {
    this.#running ??= this.#read().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Looks for changes from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.refresh().catch(() => undefined), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const version = await this.store.version();
    if (version === this.#version) return;
    const stored = [...(await this.store.all()).values()];
    // The record of a built-in type says only whether it is archived.
    const [builtIn, own] = [true, false].map((is) =>
      stored.filter(({ record: { name } }) => (this.hasBuiltIn && isEventType(name)) === is),
    ) as [StoredType[], StoredType[]];
    const archived = builtIn.filter(({ record }) => record.archived).map(({ record }) => record.name);
    this.#applied = new Map(own.map(({ text, record }) => [text, this.#applied.get(text) ?? appliedOf(record)]));
    eventTypes.replace({ applied: [...this.#applied.values()], archived, hasBuiltIn: this.hasBuiltIn });
    this.#version = version;
  }
}

const NO_FAULT = (): readonly JsonFault[] => [];

/** Returns a payload for a type without a sample. */
function madeOf(schema: Record<string, unknown> | undefined): Readonly<Record<string, unknown>> {
  const made = schema === undefined ? undefined : sampleOf(schema);
  return made ?? {};
}

function appliedOf({ archived: isArchived, sample, updatedAt: _at, ...record }: EventTypeRecord): AppliedEventType {
  const { schema } = record;
  return {
    ...record,
    isArchived,
    sample: sample ?? madeOf(schema),
    faultsOf: schema === undefined ? NO_FAULT : compilePayloadSchema(schema),
  } as AppliedEventType;
}
