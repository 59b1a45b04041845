import { signal, useSignal } from '@preact/signals';
import {
  ask,
  Button,
  ChoiceField,
  countOf,
  Empty,
  Fault,
  go,
  Link,
  Loaded,
  Notice,
  Refused,
  Screen,
  SeveralField,
  TextField,
  useLoad,
  Viewer,
} from '@relay/ui';
import { useMemo, useState } from 'preact/hooks';
import { type Definition, useCheck } from './event-type-check.js';
import { faultsOfText, JsonField } from './json-field.js';
import { readJson } from './json-lines.js';
import { type Answer, api, loadClients, may } from './session.js';

type EventType = Answer<'readEventType'>;

/** A definition to begin with, and the version that a change replaces. */
interface Filled {
  /** Undefined for a new type. */
  readonly type: EventType | undefined;
  readonly version: string;
}

/** No type has this version: the relay then refuses to replace one. */
const NEW: Filled = { type: undefined, version: '"0"' };
/** Stands for a deprecated type without a replacement; no name has a space. */
const NO_OTHER = ' ';

export const NewEventType = () => (
  <Screen title="New event type">{may('admin') ? <Form {...NEW} reload={() => undefined} /> : <OnlyAdmin />}</Screen>
);

/** Changes an event type that was applied. */
export function EditEventType({ name }: { readonly name: string }) {
  const load = useLoad(`edit ${name}`, () => api.request('readEventType', { path: { name } }));
  return (
    <Screen title={`Edit ${name}`}>
      {may('admin') ? (
        <Loaded of={load} what="the event type">
          {({ body, headers }) =>
            body.origin === 'built-in' ? (
              <Empty title="A built-in event type cannot be edited">
                <Link to={['event-types', name]} name="Back to it" />
              </Empty>
            ) : (
              <Form type={body} version={headers.get('etag') ?? ''} reload={load.reload} />
            )
          }
        </Loaded>
      ) : (
        <OnlyAdmin />
      )}
    </Screen>
  );
}

const OnlyAdmin = () => (
  <Empty title="Only an admin changes event types">
    <Link to={['event-types']} name="See all event types" />
  </Empty>
);

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2));

const MEMBERS = [
  ['description', 'Description'],
  ['schema', 'Schema'],
  ['sample', 'Sample'],
  ['key', 'Kafka key'],
  ['audience', 'Envelopes'],
  ['partners', 'Partners'],
  ['deprecated', 'Deprecated'],
] as const;

const fieldsOf = (type: EventType | undefined) => ({
  description: signal(type?.description ?? ''),
  schema: signal(textOf(type?.schema)),
  sample: signal(textOf(type?.sample)),
  key: signal(type?.key ?? ''),
  audience: signal<string>(type?.audience ?? 'any'),
  partners: signal<readonly string[]>(type?.partners ?? []),
  deprecated: signal(type?.deprecated === undefined ? '' : (type.deprecated.use ?? NO_OTHER)),
});

/** The definition in the fields; undefined while a text in them is no JSON. */
function definitionIn(fields: ReturnType<typeof fieldsOf>): Definition | undefined {
  const texts = { schema: readJson(fields.schema.value), sample: readJson(fields.sample.value) };
  if (texts.schema.kind === 'faulty' || texts.sample.kind === 'faulty') return undefined;
  const { description, key, audience, partners, deprecated } = fields;
  return {
    description: description.value,
    audience: audience.value as 'any' | 'required',
    ...(texts.schema.kind === 'empty' ? {} : { schema: texts.schema.value as Record<string, unknown> }),
    ...(texts.sample.kind === 'empty' ? {} : { sample: texts.sample.value as Record<string, unknown> }),
    ...(key.value === '' ? {} : { key: key.value }),
    ...(partners.value.length === 0 ? {} : { partners: [...partners.value] }),
    ...(deprecated.value === '' ? {} : { deprecated: deprecated.value === NO_OTHER ? {} : { use: deprecated.value } }),
  };
}

/** Form for a definition, which the relay checks as it is typed. Typed text stays when the type is changed elsewhere. */
function Form({ type, version, reload }: Filled & { readonly reload: () => void }) {
  const [filled, setFilled] = useState<Filled>({ type, version });
  const fields = useMemo(() => fieldsOf(filled.type), [filled.type]);
  const name = useSignal(type?.name ?? '');
  const commands = useSignal<readonly string[]>([]);
  const definition = definitionIn(fields);
  const check = useCheck(name.value, definition === undefined ? undefined : JSON.stringify(definition));
  const others = useLoad('others', () => api.call('listEventTypes', {})).value?.eventTypes ?? [];
  const clients = useLoad('clients', loadClients);
  const isOld = filled.version !== version;
  const faultsAt = (member: string) => check.faults.filter(({ pointer }) => pointer.split('/')[1] === member);
  const errorAt = (member: string): string | undefined =>
    faultsAt(member)
      .map(({ detail }) => detail)
      .join(' ') || undefined;
  const faultsIn = (member: 'schema' | 'sample') =>
    faultsOfText(
      readJson(fields[member].value),
      faultsAt(member).map(({ pointer, detail }) => ({ pointer: pointer.slice(member.length + 1), detail })),
    );
  const isTaken = type === undefined && check.change !== undefined && check.change.change !== 'created';
  const ofName = isTaken
    ? `There is a type ${name.value} already.`
    : check.faults.find(({ pointer }) => pointer === '')?.detail;
  const save = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (definition === undefined || check.faults.length > 0 || isTaken) {
      form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
      return;
    }
    const input = { path: { name: name.value }, headers: { 'if-match': filled.version }, body: definition };
    ask({
      title: type === undefined ? `Add ${name.value}?` : `Change ${name.value}?`,
      words: effectOf(type, definition),
      verb: type === undefined ? 'Add it' : 'Change it',
      curl: api.curl('putEventType', input),
      run: async () => {
        try {
          await api.call('putEventType', input);
        } catch (error) {
          if (error instanceof Refused) {
            commands.value = error.problem.commands ?? [];
            if (error.status === 412) reload();
          }
          throw error;
        }
        go(['event-types', name.value]);
        return `${name.value} is ${type === undefined ? 'added' : 'changed'}.`;
      },
    });
  };
  const partners = (clients.value?.clients ?? []).filter(({ kind }) => kind === 'partner');
  const known = [...fields.partners.value.map((id) => [id, id]), ...partners.map((each) => [each.clientId, each.name])];
  const replacements = others.filter((each) => each.name !== name.value && !each.archived);
  return (
    <form class="panel" onSubmit={save} noValidate aria-label="Definition">
      {isOld && type !== undefined && (
        <Changed
          was={filled.type}
          is={type}
          keep={() => setFilled({ ...filled, version })}
          drop={() => setFilled({ type, version })}
        />
      )}
      {commands.value.length > 0 && (
        <Notice kind="warn" title="Run these commands of Kafka, then save again">
          <Viewer label="Commands" text={commands.value.join('\n')} />
        </Notice>
      )}
      {type === undefined ? (
        <TextField
          label="Name"
          value={name}
          isRequired
          hint="Such as order.paid. It is also the name of the Kafka topic, and cannot be changed."
          error={ofName}
        />
      ) : (
        <Fault title="The relay does not take it" words={ofName ?? ''} />
      )}
      <TextField
        label="Description"
        value={fields.description}
        lines={2}
        hint="An event of this type says this to partners."
        error={errorAt('description')}
      />
      <div class="columns">
        <JsonField
          label="Schema"
          value={fields.schema}
          hint="JSON Schema 2020-12 of the payload. Without one any object is a payload."
          faults={faultsIn('schema')}
        />
        <JsonField
          label="Sample"
          value={fields.sample}
          hint="A payload for documents and test deliveries. Without one the relay makes one of the schema."
          faults={faultsIn('sample')}
        />
      </div>
      <div class="columns">
        <ChoiceField
          label="Envelopes"
          value={fields.audience}
          choices={{ any: 'may be for every partner', required: 'must name their partners' }}
        />
        <TextField
          label="Kafka key"
          value={fields.key}
          hint="JSON Pointer of a member of the payload, such as /id. Envelopes with one key keep their order."
          error={errorAt('key')}
        />
        <ChoiceField
          label="Deprecated"
          value={fields.deprecated}
          choices={{
            '': 'no',
            [NO_OTHER]: 'yes, without a replacement',
            ...Object.fromEntries(replacements.map((each) => [each.name, `yes: use ${each.name}`])),
          }}
          error={errorAt('deprecated')}
        />
      </div>
      <Loaded of={clients} what="the partners">
        {() => null}
      </Loaded>
      {known.length > 0 && (
        <SeveralField
          label="Only for these partners"
          value={fields.partners}
          choices={Object.fromEntries(known)}
          hint="None: every partner sees the type."
          error={errorAt('partners')}
        />
      )}
      <p class="quiet" role="status">
        {definition === undefined || isTaken ? '' : wordsOfCheck(check, name.value)}
      </p>
      <div class="buttons">
        <Button name={type === undefined ? 'Add it…' : 'Save…'} isMain />
        <Link to={type === undefined ? ['event-types'] : ['event-types', type.name]} name="Leave it" />
      </div>
    </form>
  );
}

/** Effect of a change, for the question before it. */
function effectOf(type: EventType | undefined, { schema }: Definition): string {
  if (type === undefined) return 'Its topics are created. Sources and partners can use the type within seconds.';
  const parts = [
    textOf(type.schema) === textOf(schema)
      ? 'The schema stays as it is.'
      : `The schema gets revision ${type.revision + 1}, which decides on later envelopes. Those that are accepted are delivered.`,
    type.archived ? 'The type is archived now, and becomes active again.' : '',
  ];
  return parts.filter(Boolean).join(' ');
}

function wordsOfCheck({ change, faults, away }: ReturnType<typeof useCheck>, name: string): string {
  if (name === '') return 'The relay checks the definition as you type, once it has a name.';
  if (away !== '') return `The relay cannot check it now. ${away} This page asks again by itself.`;
  if (faults.length > 0) return `The relay found ${countOf(faults.length, 'fault')}.`;
  if (change === undefined) return 'The relay checks it…';
  const ignored = change.annotations.length === 0 ? '' : ` Nothing checks ${change.annotations.join(', ')}.`;
  return `The relay found no fault.${ignored}`;
}

interface ChangedProps {
  readonly was: EventType | undefined;
  readonly is: EventType;
  readonly keep: () => void;
  readonly drop: () => void;
}

/** Says that somebody else changed the type meanwhile: the members that differ, and how to go on. */
const Changed = ({ was, is, keep, drop }: ChangedProps) => (
  <Notice kind="warn" title={`${is.name} was changed while you typed`}>
    {MEMBERS.filter(([member]) => textOf(was?.[member]) !== textOf(is[member])).map(([member, label]) =>
      typeof is[member] === 'object' ? (
        <div key={member} class="changed">
          <p>{label} is now:</p>
          <Viewer label={`${label} now`} text={textOf(is[member])} />
        </div>
      ) : (
        <p key={member}>
          {label} is now: {is[member] || 'none'}
        </p>
      ),
    )}
    {is.archived && was?.archived === false && <p>It is archived now.</p>}
    <div class="buttons">
      <Button name="Keep what I typed" run={keep} />
      <Button name="Discard what I typed" run={drop} />
    </div>
  </Notice>
);
