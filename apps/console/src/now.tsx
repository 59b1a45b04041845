import {
  Badge,
  countOf,
  countText,
  durationText,
  Link,
  Loaded,
  Notice,
  Refused,
  Screen,
  Table,
  useLoad,
} from '@relay/ui';
import { useEffect } from 'preact/hooks';
import { Charts } from './charts.js';
import { alertTitle } from './runbook.js';
import { type Answer, api, loadClients } from './session.js';
import { Since, WebhookTable } from './words.js';

const EVERY_MS = 5_000;
/** How often the alerts are loaded. The relay checks them twice a minute. */
const ALERTS_MS = 30_000;
/** How often the findings are loaded. This is rare, because every examination sends many requests to Redis and Kafka. */
const EXAMINED_MS = 60_000;

type Queue = Answer<'readQueues'>['queues'][number];

/** The page about the current state: what waits, what lags, attempts over time, alerts, and which webhooks are in trouble. */
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
        <Figure name="Lag" value={lag.value?.total} note="records not settled, over all topics" />
        <Figure name="Deliveries due" value={jobs('waiting')?.jobs} note="jobs that could be tried now" />
        <Figure name="Deliveries scheduled" value={jobs('delayed')?.jobs} note="jobs that wait for their time" />
        <Figure
          name="Oldest waiting"
          value={queues.value === undefined ? undefined : ageText(jobs('waiting')?.oldestS)}
          note="since it was due"
        />
        <Figure name="Dead letters" value={letters.value?.matched} note="kept 30 days" />
      </dl>
      <h2>Attempts over time</h2>
      <Charts />
      <Alerts />
      <h2>Webhooks in trouble</h2>
      <Loaded of={troubled} what="webhooks in trouble">
        {(webhooks) => (
          <WebhookTable
            caption="Webhooks in trouble"
            of={webhooks}
            empty={<p class="quiet">No webhook is in trouble.</p>}
          />
        )}
      </Loaded>
      <Findings />
      <h2>Lag by topic</h2>
      <Loaded of={lag} what="lag">
        {({ topics }) => (
          <Table
            caption="Lag by topic"
            rows={topics.filter((topic) => topic.lag > 0).toSorted((a, b) => b.lag - a.lag)}
            keyOf={({ topic }) => topic}
            columns={[
              { name: 'Topic', cell: ({ topic }) => topic },
              { name: 'Not settled', cell: (row) => countText(row.lag), isNumber: true },
            ]}
            empty={<p class="quiet">The workers have settled all of {countOf(topics.length, 'topic')}.</p>}
          />
        )}
      </Loaded>
      <h2>Queues</h2>
      <Loaded of={queues} what="queues">
        {(all) => (
          <Table
            caption="Jobs by queue and state"
            rows={all.queues.filter(({ jobs: count }) => count > 0)}
            keyOf={({ queue, state }) => `${queue} ${state}`}
            columns={[
              { name: 'Queue', cell: ({ queue }) => queue },
              { name: 'State', cell: ({ state }) => <Badge kind="info">{state}</Badge> },
              { name: 'Jobs', cell: (row) => countText(row.jobs), isNumber: true },
              { name: 'Oldest', cell: (row) => ageText(row.oldestS), isNumber: true },
            ]}
            empty={<p class="quiet">No queue holds a job.</p>}
          />
        )}
      </Loaded>
      <p>
        <a href="board/">Every job by itself, in Bull Board</a>
      </p>
    </Screen>
  );
}

const ageText = (ageS: number | undefined): string => (ageS === undefined ? '–' : durationText(ageS * 1_000));

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
  <div class="panel">
    <dt>{name}</dt>
    <dd>{typeof value === 'number' ? countText(value) : (value ?? '?')}</dd>
    <dd class="quiet">{note}</dd>
  </div>
);

/** Says which of Redis and Kafka does not answer, based on the errors of two requests; undefined if both answer. */
function awayText(ofRedis: unknown, ofKafka: unknown): string | undefined {
  const [redis, kafka] = [ofRedis, ofKafka].map((error) => error instanceof Refused && error.status === 503);
  if (redis && kafka) return 'Redis and Kafka do not answer. What is shown is from before; nothing can be changed.';
  if (redis)
    return 'Redis does not answer: webhooks, queues, dead letters and replays cannot be shown. Lag and the audit can.';
  if (kafka)
    return 'Kafka does not answer: lag, the audit and stories from the log cannot be shown, and nothing can be changed. The rest can.';
  return undefined;
}

/** Shows the current rates of accepted and delivered envelopes, and the alerts of the chart that fire. */
function Alerts() {
  const now = useLoad('now', () => api.call('readNow', {}), ALERTS_MS);
  return (
    <>
      <Loaded of={now} what="the rates">
        {({ rates }) => (
          <p class="quiet">
            Last minute: {perSecond(rates.accepted)} accepted, {perSecond(rates.delivered)} delivered,{' '}
            {perSecond(rates.failed)} attempts failed.
          </p>
        )}
      </Loaded>
      <h2>Alerts</h2>
      <Loaded of={now} what="the alerts">
        {AlertList}
      </Loaded>
    </>
  );
}

function AlertList({ alerts }: Pick<Answer<'readNow'>, 'alerts'>) {
  const unknown = alerts.filter(({ state }) => state === 'unknown');
  return (
    <>
      <Table
        caption="Alerts that fire or are about to"
        rows={alerts.filter(({ state }) => state === 'firing' || state === 'pending')}
        keyOf={({ name }) => name}
        columns={[
          { name: 'Alert', cell: ({ name }) => alertTitle(name) },
          {
            name: 'State',
            cell: ({ state, severity }) => <Badge kind={severity === 'critical' ? 'bad' : 'warn'}>{state}</Badge>,
          },
          { name: 'Since', cell: ({ since }) => <Since at={since} /> },
          { name: 'What it means', cell: ({ means }) => means },
          { name: 'What to do', cell: ({ name }) => <Link to={['runbooks', name]} name="Runbook" /> },
        ]}
        empty={<p class="quiet">No alert fires, as far as is known here.</p>}
      />
      {unknown.length > 0 && (
        <details>
          <summary>{countOf(unknown.length, 'alert')} only Prometheus can evaluate</summary>
          <ul class="several">
            {unknown.map(({ name }) => (
              <li key={name}>
                <Link to={['runbooks', name]} name={alertTitle(name)} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const perSecond = (rate: number | null): string => (rate === null ? '?' : `${rate.toFixed(1)}/s`);

/** Warnings and faults that the doctor found, with their fixes. */
function Findings() {
  const found = useLoad('findings', () => api.call('readFindings', {}), EXAMINED_MS);
  return (
    <>
      <h2>Doctor</h2>
      <Loaded of={found} what="the findings of the doctor">
        {({ findings }) => (
          <Table
            caption="Findings of the doctor"
            rows={findings.filter(({ state }) => state !== 'ok')}
            keyOf={({ check, text }) => `${check} ${text}`}
            columns={[
              { name: 'Check', cell: ({ check }) => check },
              { name: 'State', cell: ({ state }) => <Badge kind={state === 'fault' ? 'bad' : 'warn'}>{state}</Badge> },
              { name: 'What was found', cell: ({ text }) => text },
              { name: 'Fix', cell: ({ fix }) => fix ?? '–' },
            ]}
            empty={<p class="quiet">The doctor found no fault.</p>}
          />
        )}
      </Loaded>
    </>
  );
}
