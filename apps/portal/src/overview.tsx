import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import {
  Badge,
  Curl,
  Empty,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  Time,
  countOf,
  countText,
  nextCursor,
  place,
  refine,
  relayNow,
  useLoad,
} from '@relay/ui';
import { CountsChart } from './counts-chart.js';
import { allNames, api, mayAdd } from './session.js';
import { healthOf, hourly, type Delivery, type WebhookState } from './words.js';

const EVERY_MS = 15_000;
const DAY_MS = 86_400_000;

/** Lists all webhooks with their state. */
export function Overview() {
  const { cursor, find = '' } = place.value.query;
  const query = cursor === undefined ? {} : { cursor };
  const states = useLoad(`states ${cursor ?? ''}`, () => api.request('listWebhookStates', { query }), EVERY_MS);
  const recent = useLoad('recent', () => api.call('listAllDeliveries', { query: recentQuery() }), EVERY_MS);
  const deliveries = recent.value?.deliveries ?? [];
  return (
    <Screen title="Webhooks" actions={mayAdd.value && <Link to={['add']} isButton name="Add a webhook" />}>
      <Loaded of={states} what="your webhooks">
        {({ body: { webhooks }, headers }) => {
          const next = nextCursor(headers);
          if (webhooks.length === 0 && cursor === undefined) return <None />;
          return (
            <>
              {(next !== undefined || cursor !== undefined) && <Find text={find} />}
              <CountsChart />
              <List webhooks={webhooks} deliveries={deliveries} />
              <div class="buttons">
                {cursor !== undefined && <Link to={[]} isButton name="First webhooks" />}
                {next !== undefined && <Link to={[]} query={{ cursor: next }} isButton name="More webhooks" />}
              </div>
            </>
          );
        }}
      </Loaded>
      {recent.error !== undefined && states.error === undefined && (
        <Loaded of={recent} what="the last day">
          {() => null}
        </Loaded>
      )}
      <Curl line={api.curl('listWebhookStates', { query })} />
    </Screen>
  );
}

const recentQuery = (): { since: string; limit: string } => ({
  since: new Date(relayNow() - DAY_MS).toISOString(),
  limit: '200',
});

/** Maximum number of search results that are listed. */
const MOST_FOUND = 20;

/** Searches the webhooks of all pages by a part of their name, event type or address. */
function Find({ text }: { readonly text: string }) {
  const value = useMemo(() => signal(text), [text]);
  const names = useLoad('names', allNames);
  const wanted = text.toLowerCase();
  const found = (names.value ?? []).filter(({ endPointName, eventType, endPointUrl }) =>
    [endPointName ?? '', eventType, endPointUrl].some((each) => each.toLowerCase().includes(wanted)),
  );
  return (
    <form class="panel filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <TextField
        label="Find"
        type="search"
        value={value}
        settled={() => refine({ ...place.value.query, find: value.value === '' ? undefined : value.value })}
        hint={`Among ${countOf(names.value?.length ?? 0, 'webhook')}: a part of the name, event type or address.`}
      />
      {text !== '' && (
        <ul>
          {found.slice(0, MOST_FOUND).map(({ id, eventType, endPointName, endPointUrl }) => (
            <li key={id}>
              <Link to={['webhooks', id]}>{endPointName ?? eventType}</Link>{' '}
              <span class="quiet small">{endPointUrl}</span>
            </li>
          ))}
          {found.length > MOST_FOUND && <li class="quiet">{countText(found.length - MOST_FOUND)} more</li>}
          {names.value !== undefined && found.length === 0 && <li>No webhook is like that.</li>}
        </ul>
      )}
    </form>
  );
}

const None = () => (
  <Empty title="You have no webhook yet">
    <p>A webhook is an address of yours that gets every event of a type.</p>
    {mayAdd.value && <Link to={['add']} isButton name="Add the first one" />}
  </Empty>
);

interface ListProps {
  readonly webhooks: readonly WebhookState[];
  readonly deliveries: readonly Delivery[];
}

function List({ webhooks, deliveries }: ListProps) {
  const nowMs = relayNow();
  const of = (id: string): Delivery[] => deliveries.filter(({ webhookId }) => webhookId === id);
  return (
    <Table
      caption="Your webhooks"
      rows={webhooks}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Webhook',
          cell: ({ id, eventType, endPointUrl, endPointName }) => (
            <>
              <Link to={['webhooks', id]}>{endPointName ?? eventType}</Link>
              {endPointName !== null && <p class="quiet">{eventType}</p>}
              <p class="quiet small">{endPointUrl}</p>
            </>
          ),
        },
        { name: 'State', cell: (webhook) => <State webhook={webhook} nowMs={nowMs} /> },
        { name: 'Last 24 hours', cell: ({ id }) => <Sparkline deliveries={of(id)} nowMs={nowMs} /> },
        { name: 'Delivered', isNumber: true, cell: ({ delivered }) => countText(delivered) },
        {
          name: 'Waiting',
          isNumber: true,
          cell: ({ id, waiting }) => (
            <>
              {countText(waiting)}
              <NextAttempt deliveries={of(id)} />
            </>
          ),
        },
        {
          name: 'Given up',
          isNumber: true,
          cell: ({ id, dead }) =>
            dead === 0 ? (
              '0'
            ) : (
              <Link to={['deliveries']} query={{ status: 'dead', webhookId: id }} name={countText(dead)} />
            ),
        },
      ]}
    />
  );
}

function NextAttempt({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const [next] = deliveries.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).toSorted();
  if (next === undefined) return null;
  return (
    <p class="quiet small">
      next <Time at={next} isShort />
    </p>
  );
}

const [WIDTH, HEIGHT] = [120, 24];
const STEP = WIDTH / 24;

/** Bar chart of the last 24 hours. Each bar shows the delivered deliveries, and above them the others. */
function Sparkline({ deliveries, nowMs }: { readonly deliveries: readonly Delivery[]; readonly nowMs: number }) {
  const hours = hourly(deliveries, nowMs);
  const most = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed));
  const sumOf = (kind: 'delivered' | 'failed'): number => hours.reduce((sum, hour) => sum + hour[kind], 0);
  const label = `Last 24 hours: ${countOf(sumOf('delivered'), 'delivery', 'deliveries')} arrived, ${sumOf('failed')} did not`;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} class="base" />
      {hours.map((hour, index) => {
        const [low, high] = [(hour.delivered / most) * HEIGHT, (hour.failed / most) * HEIGHT];
        const x = index * STEP;
        return (
          <g key={x}>
            <rect x={x} y={HEIGHT - low} width={STEP - 1} height={low} class="arrived" />
            <rect x={x} y={HEIGHT - low - high} width={STEP - 1} height={high} class="lost" />
          </g>
        );
      })}
    </svg>
  );
}

/** Shows the state of a webhook, with the same text in the list and on the page of the webhook. */
export function State({ webhook, nowMs }: { readonly webhook: WebhookState; readonly nowMs: number }) {
  const { kind, word, words } = healthOf(webhook, nowMs);
  return (
    <>
      <Badge kind={kind}>{word}</Badge>
      <p class="small">{words}</p>
    </>
  );
}
