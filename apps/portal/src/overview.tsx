import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import {
  Address,
  Badge,
  Curl,
  Empty,
  Icon,
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
import { Bars, useLastDay } from './by-hour.js';
import { CountsChart } from './counts-chart.js';
import { allNames, api, mayAdd, type Named } from './session.js';
import { healthOf, titleOf, type Delivery, type WebhookState } from './words.js';

const EVERY_MS = 15_000;

/** Lists all webhooks with their state. */
export function Overview() {
  const { cursor, find = '' } = place.value.query;
  const query = cursor === undefined ? {} : { cursor };
  const states = useLoad(`states ${cursor ?? ''}`, () => api.request('listWebhookStates', { query }), EVERY_MS);
  const lastDay = useLastDay();
  const deliveries = lastDay.value ?? [];
  const isEmpty = states.value?.body.webhooks.length === 0 && cursor === undefined;
  return (
    <Screen title="Webhooks" actions={mayAdd.value && !isEmpty && <AddLink name="Add webhook" />}>
      <Loaded of={states} what="your webhooks">
        {({ body: { webhooks }, headers }) => {
          const next = nextCursor(headers);
          if (isEmpty) return <None />;
          return (
            <>
              <CountsChart />
              {(next !== undefined || cursor !== undefined) && <Find text={find} />}
              <List webhooks={webhooks} deliveries={deliveries} />
              <div class="buttons">
                {cursor !== undefined && <Link to={[]} isButton name="First webhooks" />}
                {next !== undefined && <Link to={[]} query={{ cursor: next }} isButton name="More webhooks" />}
              </div>
            </>
          );
        }}
      </Loaded>
      {lastDay.error !== undefined && states.error === undefined && (
        <Loaded of={lastDay} what="the last 24 hours">
          {() => null}
        </Loaded>
      )}
      <Curl line={api.curl('listWebhookStates', { query })} />
    </Screen>
  );
}

const AddLink = ({ name }: { readonly name: string }) => (
  <Link to={['add']} isButton isMain>
    <Icon name="plus" />
    {name}
  </Link>
);

/** Maximum number of search results that are listed. */
const MOST_FOUND = 20;

/** Searches the webhooks of all pages by a part of their name, event type or URL. */
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
        hint={`Among ${countOf(names.value?.length ?? 0, 'webhook')}: a part of the name, event type or URL.`}
      />
      {text !== '' && (
        <ul>
          {found.slice(0, MOST_FOUND).map((webhook) => (
            <li key={webhook.id}>
              <WebhookLink of={webhook} /> <span class="quiet small">{webhook.endPointUrl}</span>
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
    <p>A webhook sends every event of a type to a URL of yours.</p>
    {mayAdd.value && <AddLink name="Add a webhook" />}
  </Empty>
);

/** The title of a webhook, which leads to its page. */
export const WebhookLink = ({ of }: { readonly of: Named }) => (
  <Link to={['webhooks', of.id]} label={`${titleOf(of)}, ${of.eventType}`}>
    {of.endPointName ?? <Address url={of.endPointUrl} />}
  </Link>
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
          cell: (webhook) => (
            <>
              <p class="title">
                <WebhookLink of={webhook} />
              </p>
              <p class="quiet small">
                <code>{webhook.eventType}</code>
              </p>
              {webhook.endPointName !== null && (
                <p class="small">
                  <Address url={webhook.endPointUrl} />
                </p>
              )}
            </>
          ),
        },
        { name: 'State', cell: (webhook) => <State webhook={webhook} nowMs={nowMs} /> },
        { name: 'Last 24 hours', cell: ({ id }) => <Bars deliveries={of(id)} /> },
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
          name: 'Dead letters',
          isNumber: true,
          cell: ({ id, dead }) =>
            dead === 0 ? (
              '0'
            ) : (
              <Link to={['webhooks', id, 'deliveries']} query={{ status: 'dead' }} name={countText(dead)} />
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

/** Shows the state of a webhook. Its page shows the same text. */
function State({ webhook, nowMs }: { readonly webhook: WebhookState; readonly nowMs: number }) {
  const { kind, word, words } = healthOf(webhook, nowMs);
  return (
    <>
      <Badge kind={kind}>{word}</Badge>
      <p class="words small">{words}</p>
    </>
  );
}
