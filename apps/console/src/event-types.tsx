import {
  Badge,
  Button,
  ChoiceField,
  countOf,
  countText,
  Curl,
  Empty,
  Facts,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  useFilters,
  useLoad,
  Viewer,
} from '@relay/ui';
import { useEffect } from 'preact/hooks';
import { type Answer, api, loadClients, may } from './session.js';
import { ClientLink } from './words.js';

type EventType = Answer<'readEventType'>;

const STATES = { '': 'active', archived: 'archived', all: 'all' };

/** The event types of the relay: built in, and applied by operators. */
export function EventTypes() {
  const { q, state } = useFilters('q', 'state');
  const load = useLoad('types', () => api.call('listEventTypes', {}));
  const words = q.value.value.toLowerCase().split(/\s+/);
  const isWanted = ({ name, description, archived }: EventType): boolean =>
    (state.value.value === 'all' || archived === (state.value.value === 'archived')) &&
    words.every((word) => `${name} ${description}`.toLowerCase().includes(word));
  return (
    <Screen
      title="Event types"
      actions={may('admin') && <Link to={['event-types']} query={{ new: 'yes' }} isButton name="New event type" />}
    >
      <div class="filters">
        <TextField label="Search" type="search" {...q} hint="In names and descriptions." />
        <ChoiceField label="State" {...state} choices={STATES} />
      </div>
      <Loaded of={load} what="event types">
        {({ eventTypes }) => {
          const found = eventTypes.filter(isWanted);
          return (
            <>
              <p class="quiet" role="status">
                {found.length < eventTypes.length && `${countText(found.length)} of `}
                {countOf(eventTypes.length, 'event type')}
              </p>
              <Table
                caption="Event types"
                rows={found}
                keyOf={({ name }) => name}
                columns={[
                  { name: 'Name', cell: ({ name }) => <Link to={['event-types', name]} name={name} /> },
                  { name: 'Description', cell: ({ description }) => description || '–' },
                  { name: 'State', cell: (type) => <States of={type} /> },
                ]}
                empty={<Empty title="No event type is like that" />}
              />
            </>
          );
        }}
      </Loaded>
      <Curl line={api.curl('listEventTypes', {})} />
    </Screen>
  );
}

const States = ({ of: { origin, archived, deprecated, partners } }: { readonly of: EventType }) => (
  <span class="badges">
    {archived ? <Badge kind="warn">archived</Badge> : <Badge kind="good">active</Badge>}
    {deprecated !== undefined && <Badge kind="warn">deprecated</Badge>}
    {partners !== undefined && <Badge kind="info">for {countOf(partners.length, 'partner')}</Badge>}
    {origin === 'built-in' && <Badge kind="info">built in</Badge>}
  </span>
);

/** One event type with its definition. */
export function EventTypePage({ name }: { readonly name: string }) {
  const load = useLoad(name, () => api.request('readEventType', { path: { name } }));
  const webhooks = useLoad(`webhooks ${name}`, () =>
    api.call('listWebhooks', { query: { eventType: name, limit: 1 } }),
  );
  useEffect(() => void loadClients().catch(() => undefined), []);
  const { body: type, headers } = load.value ?? {};
  const total = webhooks.value?.total;
  return (
    <Screen
      title={name}
      actions={
        type !== undefined &&
        may('admin') && (
          <>
            {type.origin === 'applied' && <Link to={['event-types', name, 'edit']} isButton name="Edit" />}
            <Archive of={type} version={headers?.get('etag') ?? ''} webhooks={total} done={load.reload} />
          </>
        )
      }
    >
      <Loaded of={load} what="the event type">
        {({ body }) => (
          <>
            <div class="panel">
              {body.description !== '' && <p>{body.description}</p>}
              <Facts facts={factsOf(body)} />
              <div class="buttons">
                <Link
                  to={['webhooks']}
                  query={{ eventType: name }}
                  name={total === undefined ? 'Webhooks' : countOf(total, 'webhook')}
                />
              </div>
            </div>
            <div class="columns">
              <section class="panel">
                <h2>Schema</h2>
                {body.schema === undefined ? (
                  <p class="quiet">
                    {body.origin === 'built-in' ? 'The relay has it built in.' : 'Any object is a payload.'}
                  </p>
                ) : (
                  <Viewer label={`Schema of ${name}`} text={JSON.stringify(body.schema)} />
                )}
              </section>
              <section class="panel">
                <h2>Sample</h2>
                {body.sample === undefined ? (
                  <p class="quiet">The relay makes one of the schema.</p>
                ) : (
                  <Viewer label={`Sample of ${name}`} text={JSON.stringify(body.sample)} />
                )}
              </section>
            </div>
          </>
        )}
      </Loaded>
      <Curl line={api.curl('readEventType', { path: { name } })} />
    </Screen>
  );
}

const factsOf = (type: EventType) =>
  [
    ['State', <States of={type} />],
    ['Envelopes', type.audience === 'required' ? 'must name their partners' : 'may be for every partner'],
    ['Kafka key', type.key === undefined ? 'payload.id if it is a UUID, else the id' : <code>{type.key}</code>],
    ['Revision of the schema', type.schema === undefined ? undefined : type.revision],
    [
      'Use instead',
      type.deprecated?.use && <Link to={['event-types', type.deprecated.use]} name={type.deprecated.use} />,
    ],
    [
      'Only for',
      type.partners?.map((id) => (
        <div key={id}>
          <ClientLink id={id} />
        </div>
      )),
    ],
  ] as const;

interface ArchiveProps {
  readonly of: EventType;
  readonly version: string;
  /** Number of its webhooks; undefined while that is not known. */
  readonly webhooks: number | undefined;
  readonly done: () => void;
}

/** Archives a type, or makes an archived one active again. */
function Archive({ of: type, version, webhooks, done }: ArchiveProps) {
  const input = { path: { name: type.name }, headers: { 'if-match': version } };
  const { name, origin, revision: _revision, archived, ...definition } = type;
  const archive = (): void =>
    api.ask('archiveEventType', input, {
      title: `Archive ${name}?`,
      words: `It takes no new envelope and no new webhook. ${webhooks === undefined ? 'Its webhooks' : `Its ${countOf(webhooks, 'webhook')}`} and accepted envelopes stay: deliveries, retries and replays go on.`,
      verb: 'Archive it',
      isDangerous: true,
      done,
      said: `${name} is archived.`,
    });
  const restore = (): void =>
    api.ask(
      'putEventType',
      { ...input, body: origin === 'built-in' ? {} : definition },
      {
        title: `Make ${name} active again?`,
        words: 'It takes envelopes and webhooks again within seconds.',
        verb: 'Make it active',
        done,
        said: `${name} is active.`,
      },
    );
  return archived ? <Button name="Make it active…" run={restore} /> : <Button name="Archive…" run={archive} />;
}
