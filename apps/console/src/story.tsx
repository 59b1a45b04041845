import {
  Badge,
  countOf,
  Curl,
  durationText,
  Empty,
  Facts,
  type Kind,
  Link,
  Loaded,
  Notice,
  place,
  Refused,
  Screen,
  Table,
  Time,
  useLoad,
} from '@relay/ui';
import { type Answer, api, given, mayLook, type QueryOf } from './session.js';
import { Clue } from './story-clue.js';
import { Payload } from './story-payload.js';
import { ClientLink, REASONS } from './words.js';

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

/** What became of an envelope at each webhook. */
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

function OneDelivery({ of }: { readonly of: Delivery }) {
  return (
    <section class="panel" aria-label={`Delivery to ${of.host ?? 'a webhook'}`}>
      <h3>
        {of.host ?? 'not known'} <Badge kind={KINDS[of.state] ?? 'info'}>{of.state}</Badge>
      </h3>
      <Facts
        facts={[
          ['Partner', of.partnerId === null ? 'not known' : <ClientLink key="partner" id={of.partnerId} />],
          [
            'Webhook',
            of.webhookId === null ? (
              'not known'
            ) : (
              <Link key="webhook" to={['webhooks', of.webhookId]}>
                {of.webhookId}
              </Link>
            ),
          ],
          ...(of.waitsFor === null ? [] : [['Waits', WAITS[of.waitsFor] ?? of.waitsFor] as const]),
          ...(of.nextAttemptAt === null
            ? []
            : [['Next attempt', <Time key="next" at={of.nextAttemptAt} isShort />] as const]),
          ...(of.reason === null ? [] : [['Why', REASONS[of.reason] ?? of.reason] as const]),
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
            { name: 'Outcome', cell: ({ outcome }) => outcome ?? '–' },
            {
              name: 'Answer',
              cell: ({ status, error, detail }) => [status ?? error ?? '–', detail].filter(Boolean).join(': '),
            },
            {
              name: 'Took',
              cell: ({ durationMs }) => (durationMs === null ? '–' : durationText(durationMs)),
              isNumber: true,
            },
          ]}
        />
      )}
    </section>
  );
}
