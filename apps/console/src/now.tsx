import {
  Badge,
  countOf,
  countText,
  durationText,
  Empty,
  Link,
  Loaded,
  Notice,
  Screen,
  Table,
  Time,
  useLoad,
} from '@relay/ui';
import { useEffect } from 'preact/hooks';
import { Alerts } from './alerts.js';
import { Findings } from './findings.js';
import { loadClients } from './names.js';
import { type Answer, api } from './session.js';
import { awayText, ClientLink, shareText, Trouble } from './words.js';

const EVERY_MS = 5_000;

type Queue = Answer<'readQueues'>['queues'][number];

/** How the relay is: what waits, what lags, what was given up, and who is in trouble. */
export function Now() {
  const queues = useLoad('queues', () => api.call('readQueues', {}), EVERY_MS);
  const lag = useLoad('lag', () => api.call('readLag', {}), EVERY_MS);
  const letters = useLoad('letters', () => api.call('countDeadLetters', {}), EVERY_MS);
  const troubled = useLoad('troubled', loadTroubled, EVERY_MS);
  useEffect(() => void loadClients().catch(() => undefined), []);
  const away = awayText(queues.error, lag.error);
  const jobs = (state: Queue['state']): Queue | undefined =>
    queues.value?.queues.find((each) => each.queue === 'deliveries' && each.state === state);
  return (
    <Screen title="Now">
      {away !== undefined && <Notice kind="bad" title={away} />}
      <dl class="figures">
        <Figure name="Records not settled" value={lag.value?.total} note="lag of the workers, over all topics" />
        <Figure name="Deliveries due" value={jobs('waiting')?.jobs} note="jobs that could be tried now" />
        <Figure name="Deliveries scheduled" value={jobs('delayed')?.jobs} note="jobs that wait for their time" />
        <Figure
          name="Oldest that waits"
          value={queues.value === undefined ? undefined : durationText((jobs('waiting')?.oldestS ?? 0) * 1_000)}
          note="since it was due"
        />
        <Figure name="Dead letters" value={letters.value?.matched} note="given up, kept 30 days" />
      </dl>
      <h2>Webhooks in trouble</h2>
      <Loaded of={troubled} what="webhooks in trouble">
        {(webhooks) =>
          webhooks.length === 0 ? (
            <Empty title="No webhook is in trouble" />
          ) : (
            <Table
              caption="Webhooks in trouble"
              rows={webhooks}
              keyOf={({ id }) => id}
              columns={[
                { name: 'Endpoint', cell: ({ id, origin }) => <Link to={['webhooks', id]}>{origin}</Link> },
                { name: 'Event type', cell: ({ eventType }) => eventType },
                { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
                { name: 'State', cell: (webhook) => <Trouble of={webhook} /> },
                { name: 'Failures', cell: ({ failureRate }) => shareText(failureRate), isNumber: true },
                { name: 'Waiting', cell: ({ waiting }) => countText(waiting), isNumber: true },
                {
                  name: 'Oldest accepted',
                  cell: ({ oldestWaitingSince: since }) => (since === null ? '–' : <Time at={since} isShort />),
                },
              ]}
            />
          )
        }
      </Loaded>
      <Alerts />
      <Findings />
      <h2>Lag by topic</h2>
      <Loaded of={lag} what="lag">
        {({ topics }) => {
          const behind = topics.filter((topic) => topic.lag > 0);
          if (behind.length === 0)
            return <Empty title={`The workers have settled all of ${countOf(topics.length, 'topic')}`} />;
          return (
            <Table
              caption="Lag by topic"
              rows={behind.toSorted((a, b) => b.lag - a.lag)}
              keyOf={({ topic }) => topic}
              columns={[
                { name: 'Topic', cell: ({ topic }) => topic },
                { name: 'Not settled', cell: (row) => countText(row.lag), isNumber: true },
              ]}
            />
          );
        }}
      </Loaded>
      <h2>Queues</h2>
      <Loaded of={queues} what="queues">
        {(all) => {
          const held = all.queues.filter(({ jobs: count }) => count > 0);
          if (held.length === 0) return <Empty title="No queue holds a job" />;
          return (
            <Table
              caption="Jobs by queue and state"
              rows={held}
              keyOf={({ queue, state }) => `${queue} ${state}`}
              columns={[
                { name: 'Queue', cell: ({ queue }) => queue },
                { name: 'State', cell: ({ state }) => <Badge kind="info">{state}</Badge> },
                { name: 'Jobs', cell: (row) => countText(row.jobs), isNumber: true },
                {
                  name: 'Oldest',
                  cell: ({ oldestS }) => (oldestS === undefined ? '–' : durationText(oldestS * 1_000)),
                  isNumber: true,
                },
              ]}
            />
          );
        }}
      </Loaded>
      <p>
        <a href="board/">Every job by itself, in Bull Board</a>
      </p>
    </Screen>
  );
}

async function loadTroubled(): Promise<Answer<'listWebhooks'>['webhooks']> {
  const asked = (['breaker', 'failing'] as const).map((trouble) =>
    api.call('listWebhooks', { query: { trouble, limit: 20 } }),
  );
  const parked = api.call('listWebhooks', { query: { status: 'parked', limit: 20 } });
  const found = (await Promise.all([...asked, parked])).flatMap(({ webhooks }) => webhooks);
  return [...new Map(found.map((webhook) => [webhook.id, webhook])).values()];
}

interface FigureProps {
  readonly name: string;
  readonly value: number | string | undefined;
  readonly note: string;
}

const Figure = ({ name, value, note }: FigureProps) => (
  <div>
    <dt>{name}</dt>
    <dd>{typeof value === 'number' ? countText(value) : (value ?? '?')}</dd>
    <dd class="quiet">{note}</dd>
  </div>
);
