import { useSignal } from '@preact/signals';
import {
  Badge,
  Button,
  ChoiceField,
  countOf,
  Curl,
  Empty,
  Facts,
  given,
  type Kind,
  Link,
  Loaded,
  Notice,
  place,
  refine,
  Refused,
  Screen,
  shortId,
  Table,
  TextField,
  Time,
  useLoad,
  useTry,
  Viewer,
} from '@relay/ui';
import { type Answer, api, type Calls, mayLook, type QueryOf } from './session.js';
import { ClientLink, REASONS, STATES, tookText, useEventTypes } from './words.js';

type Delivery = Answer<'readEnvelopeStory'>['deliveries'][number];

const KINDS: Readonly<Record<string, Kind>> = {
  delivered: 'good',
  replayed: 'good',
  waiting: 'warn',
  parked: 'warn',
  replaying: 'warn',
  pending: 'warn',
  'dead-letter': 'bad',
  purged: 'bad',
};
const WAITS: Readonly<Record<string, string>> = {
  schedule: 'for its next attempt',
  'retry-after': 'until the time its endpoint asked for (Retry-After)',
  breaker: 'until its endpoint is tried again',
  room: 'for room at its endpoint',
  disabled: 'until its webhook is enabled',
  parked: 'in the log, until its endpoint answers',
  replay: 'for its replay',
};

/** Shows the deliveries of an envelope, by webhook. */
export function Story({ id }: { readonly id: string }) {
  const { type, around } = place.value.query;
  const input = { path: { id }, query: given<QueryOf<'readEnvelopeStory'>>({ type, around }) };
  const load = useLoad(`${id} ${type} ${around}`, () => api.call('readEnvelopeStory', input), 5_000);
  return (
    <Screen title="Envelope">
      <p class="mono">{id}</p>
      {load.error instanceof Refused && load.error.status === 404 ? (
        <Clue id={id} />
      ) : (
        <Loaded of={load} what="the story">
          {(story) => (
            <>
              {story.incomplete.length > 0 && (
                <Notice kind="warn" title={`This is not all: ${story.incomplete.join(' and ')} did not answer`} />
              )}
              <div class="panel">
                <Facts
                  facts={[
                    ['Event type', story.eventType ?? 'not known'],
                    ['Accepted', story.acceptedAt === null ? 'not known' : <Time key="at" at={story.acceptedAt} />],
                    ['Source', story.source === null ? 'not known' : <ClientLink key="source" id={story.source} />],
                    ['Settled', settledText(story.mark)],
                    ['In the log', recordText(story.record)],
                  ]}
                />
                <Curl line={api.curl('readEnvelopeStory', input)} />
              </div>
              {mayLook('operator') && <Payload key={id} input={input} />}
              <h2>{countOf(story.deliveries.length, 'delivery', 'deliveries')}</h2>
              {story.deliveries.length === 0 &&
                (story.record === null ? (
                  <Clue id={id} />
                ) : (
                  <Empty title="No webhook has had it">
                    <p>Nobody was registered for its type when it came, or the workers have not read it yet.</p>
                  </Empty>
                ))}
              {story.deliveries.map((delivery) => (
                <OneDelivery key={delivery.id} of={delivery} />
              ))}
            </>
          )}
        </Loaded>
      )}
    </Screen>
  );
}

const settledText = (mark: Answer<'readEnvelopeStory'>['mark']): string =>
  mark === 'settled' ? 'yes: each delivery is made or kept' : mark === 'published' ? 'not yet' : 'not known any more';

const recordText = (record: Answer<'readEnvelopeStory'>['record']): string =>
  record === null ? 'not found' : `${record.topic}, partition ${record.partition}, offset ${record.offset}`;

const OneDelivery = ({ of }: { readonly of: Delivery }) => (
  <section class="panel" aria-label={`Delivery to ${of.host ?? 'a webhook'}`}>
    <h3>
      {of.host ?? 'not known'} <Badge kind={KINDS[of.state] ?? 'info'}>{STATES[of.state] ?? of.state}</Badge>
    </h3>
    <Facts
      facts={[
        ['Partner', of.partnerId === null ? 'not known' : <ClientLink key="partner" id={of.partnerId} />],
        [
          'Webhook',
          of.webhookId === null ? 'not known' : <Link to={['webhooks', of.webhookId]} name={shortId(of.webhookId)} />,
        ],
        ['Waits', of.waitsFor === null ? undefined : (WAITS[of.waitsFor] ?? of.waitsFor)],
        ['Next attempt', of.nextAttemptAt === null ? undefined : <Time at={of.nextAttemptAt} isShort />],
        ['Why', of.reason === null ? undefined : (REASONS[of.reason] ?? of.reason)],
      ]}
    />
    {of.state === 'dead-letter' && mayLook('operator') && <Link to={['dead-letters', of.id]}>Its dead letter</Link>}
    {of.attempts.length > 0 && (
      <Table
        caption="Attempts"
        rows={of.attempts}
        keyOf={({ at, attempt }) => `${at} ${attempt}`}
        columns={[
          { name: 'Attempt', cell: ({ attempt }) => attempt ?? '–' },
          { name: 'At', cell: ({ at }) => <Time at={at} /> },
          { name: 'Outcome', cell: ({ outcome }) => STATES[outcome ?? ''] ?? outcome ?? '–' },
          {
            name: 'Answer',
            cell: ({ status, error, detail }) => [status ?? error ?? '–', detail].filter(Boolean).join(': '),
          },
          { name: 'Duration', cell: ({ durationMs }) => tookText(durationMs), isNumber: true },
        ]}
      />
    )}
  </section>
);

/** For an envelope that was never attempted: its type and about when it came lead to it in the log. */
function Clue({ id }: { readonly id: string }) {
  const types = useEventTypes();
  const [type, around] = [useSignal(place.value.query['type'] ?? 'task.created'), useSignal('')];
  const submit = (event: Event): void => {
    event.preventDefault();
    if (around.value !== '') refine({ type: type.value, around: new Date(around.value).toISOString() });
  };
  return (
    <>
      <Empty title={`No attempt of ${id} is known`}>
        <p>If it was accepted and never attempted, it is found in the log by its type and about when it came.</p>
      </Empty>
      <form class="panel" onSubmit={submit}>
        <div class="filters">
          <ChoiceField
            label="Event type"
            value={type}
            choices={Object.fromEntries(types.map((each) => [each, each]))}
          />
          <TextField label="Came about" type="datetime-local" value={around} isRequired hint="Your time." />
        </div>
        <div class="buttons">
          <Button name="Look in the log" />
        </div>
      </form>
    </>
  );
}

/** The envelope as its source sent it, when an operator asks for it: the look is audited. */
function Payload({ input }: { readonly input: Pick<Calls['readEnvelope']['data'], 'path' | 'query'> }) {
  const text = useSignal<string | undefined>(undefined);
  const [fault, attempt] = useTry();
  const read = (): void =>
    attempt(async () => {
      text.value = (await api.request('readEnvelope', input)).text;
    });
  return (
    <div class="panel">
      {fault !== '' && <Notice kind="bad" title={fault} />}
      {text.value === undefined ? (
        <div class="buttons">
          <Button name="Read the envelope" run={read} />
          <span class="quiet">The audit tells that you did.</span>
        </div>
      ) : (
        <Viewer label="Envelope" text={text.value} />
      )}
    </div>
  );
}
