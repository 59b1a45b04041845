import { Inject, Injectable } from '@nestjs/common';
import { Audit } from '@relay/audit';
import {
  archivedRecord,
  changedTo,
  type EventTypeInput,
  type EventTypeRecord,
  EventTypeStore,
  EventTypesView,
  faultsOfType,
  type StoredType,
} from '@relay/event-types';
import { EVENT_MEANINGS, EVENT_TYPES, examplePayload, isEventType, topicOf } from '@relay/events';
import { type JsonFault, jsonPointer } from '@relay/json';
import { createCommand, createTopics, isUnauthorized, Kafka, LogFetcher, planEnvelopes } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import type { Actor } from '../access/operator-guard.js';
import { NewestRecords, type Verdict } from './newest-records.js';

type Settings = Pick<
  OperationsConfig,
  | 'BUILT_IN_EVENT_TYPES'
  | 'KAFKA_TOPIC_PARTITIONS'
  | 'KAFKA_TOPIC_PREFIX'
  | 'KAFKA_TOPIC_REPLICATION'
  | 'MAX_EVENT_TYPES'
>;

/** The effect of a definition on one type. */
export interface TypeChange {
  readonly name: string;
  readonly change: 'created' | 'changed' | 'archived' | 'unchanged';
  readonly revision: number;
  /** Keywords and formats of the schema that nothing checks. */
  readonly annotations: string[];
  /** The newest records, judged by a changed schema. Only a dry run has it. */
  readonly newest?: Verdict;
}

interface Planned {
  readonly change: TypeChange;
  readonly record: EventTypeRecord;
  readonly before: StoredType | undefined;
}

export interface ListedType {
  readonly record: EventTypeRecord;
  readonly isBuiltIn: boolean;
}

/** Shows, applies and archives event types for an operator. Each change is reported on `relay.operations` first. */
@Injectable()
export class EventTypeDesk {
  readonly #fetcher: LogFetcher;

  constructor(
    private readonly store: EventTypeStore,
    private readonly view: EventTypesView,
    private readonly kafka: Kafka,
    private readonly audit: Audit,
    @Inject(OPERATIONS_CONFIG) private readonly config: Settings,
  ) {
    this.#fetcher = new LogFetcher(kafka);
  }

  /** Returns the built-in types in their order, then those that were applied, by name. */
  async list(): Promise<ListedType[]> {
    const stored = await this.store.all();
    const builtIn = this.#builtIn.map((name) => stored.get(name)?.record ?? builtInRecord(name));
    const applied = [...stored.values()].map(({ record }) => record).filter(({ name }) => !this.#isBuiltIn(name));
    return [...builtIn, ...applied].map((record) => ({ record, isBuiltIn: this.#isBuiltIn(record.name) }));
  }

  /**
   * Brings types to their definitions, and with `isPruned` archives all other applied types. Checks everything before it changes
   * anything; a call that stopped half way can be repeated.
   * @throws ProblemError `invalid-body` with every fault, `conflict` for a missing right, a limit or a change meanwhile
   */
  async apply(
    definitions: Readonly<Record<string, EventTypeInput>>,
    { isDryRun, isPruned }: { readonly isDryRun: boolean; readonly isPruned: boolean },
    by: Actor,
  ): Promise<TypeChange[]> {
    const stored = await this.store.all();
    const planned = this.#plan(definitions, stored);
    const left = isPruned ? [...stored.values()].filter(({ record }) => this.#isLeft(record, definitions)) : [];
    const archived = left.map((before) => this.#archival(before.record.name, before));
    const changes = [...planned, ...archived];
    this.#assertRoom(changes, stored);
    if (isDryRun) return this.#judged(changes, by);
    await this.#make(changes, by);
    return changes.map(({ change }) => change);
  }

  /** @throws ProblemError `not-found`, `conflict` */
  async archive(name: string, by: Actor, ifVersions: readonly number[] | undefined): Promise<void> {
    const before = (await this.store.all()).get(name);
    assertVersion(before, ifVersions);
    if (before === undefined && !this.#isBuiltIn(name)) throw notFound();
    if (before?.record.archived !== true) await this.#make([this.#archival(name, before)], by);
  }

  /** Replaces one definition. @throws as `apply`; `precondition-failed` */
  async put(
    name: string,
    definition: EventTypeInput,
    by: Actor,
    ifVersions: readonly number[] | undefined,
  ): Promise<TypeChange> {
    assertVersion((await this.store.all()).get(name), ifVersions);
    const [change] = await this.apply({ [name]: definition }, { isDryRun: false, isPruned: false }, by);
    return change as TypeChange;
  }

  get #builtIn(): readonly string[] {
    return this.config.BUILT_IN_EVENT_TYPES ? EVENT_TYPES : [];
  }

  #isBuiltIn(name: string): boolean {
    return this.#builtIn.includes(name);
  }

  /** Pruning archives what was applied and is not named; it leaves built-in types. */
  #isLeft({ name, archived }: EventTypeRecord, definitions: Readonly<Record<string, EventTypeInput>>): boolean {
    return !archived && !Object.hasOwn(definitions, name) && !this.#isBuiltIn(name);
  }

  #plan(definitions: Readonly<Record<string, EventTypeInput>>, stored: ReadonlyMap<string, StoredType>): Planned[] {
    const others = [...this.#builtIn, ...stored.keys(), ...Object.keys(definitions)];
    const faults: JsonFault[] = [];
    const planned = Object.entries(definitions).map(([name, definition]): Planned => {
      const read = faultsOfType(name, definition, this.config.KAFKA_TOPIC_PREFIX, others);
      if (this.#isBuiltIn(name) && !isEmpty(definition))
        read.faults.push({ pointer: '', detail: 'it is built in: archive it, or make it active again by {}' });
      for (const { pointer, detail } of read.faults)
        faults.push({ pointer: `${jsonPointer(['eventTypes', name])}${pointer}`, detail: `${name}: ${detail}` });
      const before = stored.get(name);
      const { kind, record } = changedTo(before?.record, name, definition, Date.now());
      return {
        change: { name, change: kind, revision: record.revision, annotations: read.annotations },
        record,
        before,
      };
    });
    if (faults.length > 0)
      throw new ProblemError('invalid-body', 'Nothing was changed: these event types have faults.', { errors: faults });
    return planned;
  }

  #archival(name: string, before: StoredType | undefined): Planned {
    const record = archivedRecord(before?.record, name, Date.now());
    return { change: { name, change: 'archived', revision: record.revision, annotations: [] }, record, before };
  }

  #assertRoom(changes: readonly Planned[], stored: ReadonlyMap<string, StoredType>): void {
    const active = new Set(
      [...stored.values()].filter(({ record }) => !record.archived).map(({ record }) => record.name),
    );
    for (const { record } of changes) if (record.archived) active.delete(record.name);
    for (const { record } of changes) if (!record.archived) active.add(record.name);
    if (active.size <= this.config.MAX_EVENT_TYPES) return;
    throw new ProblemError(
      'conflict',
      `This relay has at most ${this.config.MAX_EVENT_TYPES} event types of its own, and would have ${active.size}: archive some, or raise MAX_EVENT_TYPES.`,
    );
  }

  /** Adds to each type with a changed schema what the schema says of the newest records. Each read is reported first. */
  async #judged(changes: readonly Planned[], by: Actor): Promise<TypeChange[]> {
    const records = new NewestRecords(this.#fetcher, this.config.KAFKA_TOPIC_PREFIX);
    const judged: TypeChange[] = [];
    for (const { change, before, record } of changes) {
      const { name: eventType, schema, revision } = record;
      const report = (): Promise<void> => this.audit.report({ event: 'envelope.read', ...by, eventType });
      const isJudged = schema !== undefined && before !== undefined && before.record.revision !== revision;
      judged.push(isJudged ? { ...change, newest: await records.judge(eventType, schema, report) } : change);
    }
    return judged;
  }

  /** Archives first, so that there is room; creates topics before types, so that no accepted envelope lacks one. */
  async #make(changes: readonly Planned[], by: Actor): Promise<void> {
    const due = changes
      .filter(({ change }) => change.change !== 'unchanged')
      .toSorted((a, b) => Number(b.record.archived) - Number(a.record.archived));
    await this.#createTopics(due.filter(({ record }) => !record.archived).map(({ record }) => record.name));
    for (const { record, before } of due) {
      const event = record.archived ? 'event-type.archived' : 'event-type.applied';
      await this.audit.report({ event, ...by, eventType: record.name });
      const result = await this.store.put(record, before, this.config.MAX_EVENT_TYPES);
      if (result !== 'put')
        throw new ProblemError('conflict', `${record.name} was changed meanwhile: read the event types and repeat.`);
    }
    await this.view.refresh();
  }

  async #createTopics(names: readonly string[]): Promise<void> {
    const plans = names.flatMap((name) => planEnvelopes(topicOf(this.config.KAFKA_TOPIC_PREFIX, name), this.config));
    if (plans.length === 0) return;
    try {
      const atOnce = Math.max(4, Math.ceil(plans.length / CREATE_REQUESTS));
      for (let from = 0; from < plans.length; from += atOnce)
        await createTopics(this.kafka, this.config, plans.slice(from, from + atOnce));
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      throw new ProblemError(
        'conflict',
        'Kafka lets the operations app create no topics: run the commands in `commands`, then repeat the request.',
        { members: { commands: plans.map(createCommand) } },
      );
    }
  }
}

/** Brokers that create many topics at once delay the records of all others, so the topics are divided among requests. */
const CREATE_REQUESTS = 10;

/** Whether a definition says nothing: it makes an archived built-in type active again. */
const isEmpty = (definition: EventTypeInput): boolean =>
  Object.keys(definition).every((name) => ['audience', 'description'].includes(name)) &&
  definition.description === '' &&
  definition.audience === 'any';

const notFound = (): ProblemError => new ProblemError('not-found', 'There is no such event type.');

function assertVersion(before: StoredType | undefined, versions: readonly number[] | undefined): void {
  if (versions !== undefined && !versions.includes(before?.record.updatedAt ?? 0))
    throw new ProblemError('precondition-failed', 'The event type has been changed: read it again.');
}

const builtInRecord = (name: string): EventTypeRecord => ({
  name,
  description: isEventType(name) ? EVENT_MEANINGS[name] : '',
  sample: { ...examplePayload(name) },
  audience: 'any',
  revision: 1,
  archived: false,
  updatedAt: 0,
});
