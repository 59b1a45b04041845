import type { JsonFault } from '@relay/json';
import { z } from 'zod';
import { EVENT_TYPES, isEventType, isNoticeType, NOTICE_TYPES } from './event-type.js';

/**
 * Letters, digits, `_` and `-`, in parts joined by dots. These names can be used unchanged as a Kafka topic and in a URL.
 */
export const EVENT_TYPE_NAME = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/** An event type that an operator has added ("applied"). */
export interface AppliedEventType {
  readonly name: string;
  readonly description: string;
  /** Increased by each change of the schema. */
  readonly revision: number;
  /**
   * Whether the type is archived: it accepts no new envelope and no new webhook. Its records in the log are still delivered.
   */
  readonly isArchived: boolean;
  readonly schema?: Readonly<Record<string, unknown>>;
  /** An example payload, used in documents and test deliveries. */
  readonly sample: Readonly<Record<string, unknown>>;
  /** JSON Pointer (RFC 6901) to the member of the payload that becomes the Kafka key. */
  readonly key?: string;
  readonly audience: 'any' | 'required';
  /** The only partners that can see the type and register webhooks for it. If it is undefined, all partners can. */
  readonly partners?: readonly string[];
  readonly deprecated?: { readonly use?: string };
  /** Returns how a payload violates the schema. Each fault has a JSON Pointer into the payload. */
  faultsOf(payload: unknown): readonly JsonFault[];
}

interface Effective {
  readonly applied?: readonly AppliedEventType[];
  /** Whether this relay has the built-in types; by default it has. */
  readonly hasBuiltIn?: boolean;
  /** Names of built-in types that are archived. */
  readonly archived?: readonly string[];
}

/**
 * Kinds of names: `sendable` types can be sent by sources, `registrable` types can have webhooks, and `known` types may have
 * records in the log.
 */
const KINDS = ['sendable', 'registrable', 'known'] as const;
type Kind = (typeof KINDS)[number];

/** The built-in event types and those that operators have applied. */
export class EventTypes {
  #applied: ReadonlyMap<string, AppliedEventType> = new Map();
  #names!: Readonly<Record<Kind, ReadonlySet<string>>>;
  #version = 0;
  readonly #listeners: (() => void)[] = [];

  constructor() {
    this.replace({});
  }

  /** Increased by each `replace`. Code that builds something from the types can tell by it when to build again. */
  get version(): number {
    return this.#version;
  }

  replace({ applied = [], hasBuiltIn = true, archived = [] }: Effective): void {
    const builtIn: readonly string[] = hasBuiltIn ? EVENT_TYPES : [];
    const current = applied.filter(({ isArchived }) => !isArchived).map(({ name }) => name);
    const sendable = [...builtIn.filter((name) => !archived.includes(name)), ...current];
    this.#applied = new Map(applied.map((type) => [type.name, type]));
    this.#names = {
      sendable: new Set(sendable),
      registrable: new Set([...sendable, ...NOTICE_TYPES]),
      known: new Set([...builtIn, ...applied.map(({ name }) => name), ...NOTICE_TYPES]),
    };
    this.#version += 1;
    for (const changed of this.#listeners) changed();
  }

  /** Registers a function that is called after each `replace`. */
  onChange(changed: () => void): void {
    this.#listeners.push(changed);
  }

  names(kind: Kind): readonly string[] {
    return [...this.#names[kind]];
  }

  /** Returns the names that documents show. Types that are limited to certain partners are left out. */
  shown(kind: Kind): readonly string[] {
    return this.names(kind).filter((name) => this.#applied.get(name)?.partners === undefined);
  }

  /** Whether a partner may register a webhook for the type. */
  isFor(name: string, partnerId: string): boolean {
    return this.#applied.get(name)?.partners?.includes(partnerId) !== false;
  }

  is(kind: Kind, name: unknown): name is string {
    return this.#names[kind].has(name as string);
  }

  /** Returns the type if an operator applied it; undefined for a built-in type, a notice and an unknown type. */
  applied(name: unknown): AppliedEventType | undefined {
    return this.#applied.get(name as string);
  }

  /** Returns a text that says why the name is not of this kind. */
  refusal(kind: Kind, name: unknown): string {
    if (typeof name !== 'string') return `The name of an event type is expected. ${this.#hint(kind)}`;
    if (!this.is('known', name)) return this.unknown(kind, name);
    const fault = isNoticeType(name) ? 'is a notice, which only the relay sends' : 'is archived';
    return `${name} ${fault}. ${this.#hint(kind)}`;
  }

  /** Returns a text that says that there is no such type. It is also used for a type that the caller must not see. */
  unknown(kind: Kind, name: string): string {
    const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
    return `${EVENT_TYPE_NAME.test(name) ? shown : JSON.stringify(shown)} is no event type. ${this.#hint(kind)}`;
  }

  #hint(kind: Kind): string {
    return `GET /event-types lists the ${this.shown(kind).length} of this relay.`;
  }
}

/** The event types of this process. */
export const eventTypes = new EventTypes();

/**
 * Returns the schema of a member that contains the name of an event type. When a document is written, `withNames` adds the
 * names that exist at that time.
 */
export const eventTypeName = (kind: Kind): z.ZodString =>
  z
    .string({ error: ({ input }) => eventTypes.refusal(kind, input) })
    .refine((name) => eventTypes.is(kind, name), { error: ({ input }) => eventTypes.refusal(kind, input) })
    .meta({ eventTypes: kind });

const isTask = (name: string): boolean => isEventType(name) && name.startsWith('task.');

/**
 * Override for `z.toJSONSchema` that lists the names of event types. The kind `other` stands for the names of all sendable
 * types that are not about a task.
 */
export function withNames({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  const kind = [...KINDS, 'other' as const].find((each) => each === jsonSchema['eventTypes']);
  if (kind === undefined) return;
  const { description } = jsonSchema;
  for (const name of ['eventTypes', 'description']) delete jsonSchema[name];
  jsonSchema['enum'] =
    kind === 'other' ? eventTypes.shown('sendable').filter((name) => !isTask(name)) : eventTypes.shown(kind);
  if (description !== undefined) jsonSchema['description'] = description;
}
