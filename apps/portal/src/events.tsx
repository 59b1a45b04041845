import { useState } from 'preact/hooks';
import {
  Badge,
  Button,
  Curl,
  Empty,
  Facts,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  Viewer,
  countOf,
  countText,
  place,
  useFilters,
  useLoad,
} from '@relay/ui';
import { membersOf } from './members.js';
import { allNames, api, mayAdd, mayWrite, type Answer, type Named } from './session.js';
import { TestAnswer, saidOf } from './endpoint.js';

type EventType = Answer<'listOwnEventTypes'>['eventTypes'][number];

/** Every event type that this partner sees, by what it is about. */
export function Events() {
  const { q } = useFilters('q');
  const catalogue = useLoad('events', () => api.call('listOwnEventTypes', {}));
  const webhooks = useLoad('names', allNames).value ?? [];
  const wanted = q.value.value;
  return (
    <Screen title="Events">
      <p class="quiet">Event types that a webhook can be registered for, and the payloads that your endpoint gets.</p>
      <div class="filters">
        <TextField label="Search" type="search" {...q} hint="In names and descriptions." />
      </div>
      <Loaded of={catalogue} what="the event types">
        {({ eventTypes }) => {
          const found = eventTypes.filter((type) => isLike(type, wanted));
          return (
            <>
              <p class="quiet" role="status">
                {found.length < eventTypes.length && `${countText(found.length)} of `}
                {countOf(eventTypes.length, 'event type')}
              </p>
              {found.length === 0 && <Empty title="No event type has these words" />}
              {groupsOf(found).map(([group, types]) => (
                <section key={group} class="group" aria-labelledby={`group-${group}`}>
                  <h2 id={`group-${group}`}>
                    {group} <span class="quiet small">{countText(types.length)}</span>
                  </h2>
                  {types.map((type) => (
                    <Event
                      key={type.name}
                      event={type}
                      webhooks={webhooks.filter(({ eventType }) => eventType === type.name)}
                    />
                  ))}
                </section>
              ))}
            </>
          );
        }}
      </Loaded>
      <Curl line={api.curl('listOwnEventTypes', {})} />
    </Screen>
  );
}

/** Whether name or description have each of the words. */
function isLike({ name, description }: EventType, wanted: string): boolean {
  const text = `${name} ${description}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The types by the first part of their names, in their order. */
function groupsOf(types: readonly EventType[]): [string, EventType[]][] {
  const groups = new Map<string, EventType[]>();
  for (const type of types) {
    const [group = ''] = type.name.split('.');
    groups.set(group, [...(groups.get(group) ?? []), type]);
  }
  return [...groups];
}

interface EventProps {
  readonly event: EventType;
  readonly webhooks: readonly Named[];
}

function Event({ event: { name, description, sentBy, payloadSchema, deprecated, sample }, webhooks }: EventProps) {
  const [isOpen, setOpen] = useState(place.value.query['q'] === name);
  const [result, setResult] = useState<Answer<'testWebhook'>>();
  const send = (id: string, address: string): void => {
    const input = { path: { id } };
    api.ask('testWebhook', input, {
      title: 'Send a sample?',
      words: `${address} gets a sample of ${name} now, marked with the header relay-test: true.`,
      verb: 'Send sample',
      done: setResult,
      said: saidOf,
    });
  };
  return (
    <details class="panel" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{name}</code> {deprecated !== undefined && <Badge kind="warn">deprecated</Badge>}{' '}
        <span class="quiet">{description}</span>
      </summary>
      {deprecated !== undefined && (
        <p>
          {deprecated.use === undefined ? (
            'It is deprecated, and nothing replaces it.'
          ) : (
            <>
              It is deprecated. Use <Link to={['events']} query={{ q: deprecated.use }} name={deprecated.use} />{' '}
              instead.
            </>
          )}
        </p>
      )}
      <Facts
        facts={[
          ['Sent by', sentBy === 'relay' ? 'the relay, about your own webhooks' : 'the platform'],
          ['Payload', payloadSchema === null ? 'any object' : undefined],
        ]}
      />
      {isOpen && payloadSchema !== null && <Payload name={name} />}
      <h3>Sample</h3>
      <Viewer label={`Sample of ${name}`} text={JSON.stringify(sample)} />
      {result !== undefined && <TestAnswer result={result} />}
      <div class="buttons">
        {mayWrite.value &&
          webhooks.map(({ id, endPointUrl }) => (
            <Button key={id} name={`Send a sample to ${endPointUrl}`} run={() => send(id, endPointUrl)} />
          ))}
        {mayAdd.value && webhooks.length === 0 && (
          <Link to={['add']} query={{ type: name }} isButton name="Add a webhook" />
        )}
      </div>
    </details>
  );
}

/** The members of a payload, and the schema that they are read from. */
function Payload({ name }: { readonly name: string }) {
  const schema = useLoad(`schema ${name}`, () => api.request('readOwnPayloadSchema', { path: { name } }));
  return (
    <>
      <h3>Payload</h3>
      <Loaded of={schema} what="the members of the payload">
        {({ body, text }) => (
          <>
            <Table
              caption={`Members of the payload of ${name}`}
              rows={membersOf(body)}
              keyOf={({ pointer }) => pointer}
              columns={[
                { name: 'Member', cell: ({ pointer }) => <code>{pointer}</code> },
                { name: 'Type', cell: ({ type }) => type },
                { name: 'Required', cell: ({ isRequired }) => (isRequired ? 'yes' : 'no') },
                { name: 'Description', cell: (member) => member.description || '–' },
              ]}
              empty={<p>Its schema names no member.</p>}
            />
            <details>
              <summary>JSON Schema</summary>
              <Viewer label={`JSON Schema of ${name}`} text={text} />
            </details>
          </>
        )}
      </Loaded>
    </>
  );
}
