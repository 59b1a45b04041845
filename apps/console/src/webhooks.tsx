import {
  ChoiceField,
  countOf,
  countText,
  Empty,
  Link,
  Loaded,
  place,
  Screen,
  Table,
  TextField,
  Time,
  useLoad,
} from '@relay/ui';
import { useFilter } from './filters.js';
import { OrderReplay } from './order-replay.js';
import { api, given, may, type QueryOf } from './session.js';
import { choicesOf, ClientLink, EVENT_TYPES, shareText, Trouble } from './words.js';

/** Webhooks of all partners, by what troubles them. */
export function Webhooks() {
  const [status, trouble, eventType, partner, sort] = ['status', 'trouble', 'eventType', 'partner', 'sort'].map(
    useFilter,
  ) as [
    ReturnType<typeof useFilter>,
    ReturnType<typeof useFilter>,
    ReturnType<typeof useFilter>,
    ReturnType<typeof useFilter>,
    ReturnType<typeof useFilter>,
  ];
  const { origin, ...query } = place.value.query;
  const load = useLoad(
    JSON.stringify(query),
    () => api.call('listWebhooks', { query: given<QueryOf<'listWebhooks'>>(query) }),
    10_000,
  );
  return (
    <Screen title="Webhooks">
      <div class="filters">
        <ChoiceField label="Status" {...status} choices={choicesOf(['active', 'parked', 'disabled'], 'any')} />
        <ChoiceField
          label="Trouble"
          {...trouble}
          choices={[
            ['', 'any or none'],
            ['breaker', 'paused by the breaker'],
            ['failing', 'every attempt fails'],
            ['waiting', 'deliveries wait'],
          ]}
        />
        <ChoiceField label="Event type" {...eventType} choices={choicesOf(EVENT_TYPES, 'any')} />
        <TextField label="Partner" {...partner} hint="Its client id." />
        <ChoiceField
          label="Order"
          {...sort}
          choices={[
            ['', 'by event type'],
            ['waiting', 'most waiting first'],
            ['oldestWaiting', 'longest wait first'],
            ['failureRate', 'most failures first'],
          ]}
        />
      </div>
      <Loaded of={load} what="webhooks">
        {({ total, webhooks: all }) => {
          const webhooks = origin === undefined ? all : all.filter((each) => each.origin === origin);
          if (webhooks.length === 0)
            return (
              <Empty title="No webhook is like that">
                <Link to={['webhooks']}>Show all</Link>
              </Empty>
            );
          return (
            <>
              <p class="quiet">
                {countOf(webhooks.length, 'webhook')}
                {origin === undefined ? ` of ${countText(total)}` : ` at ${origin}`}
              </p>
              <Table
                caption="Webhooks"
                rows={webhooks}
                keyOf={({ id }) => id}
                columns={[
                  { name: 'Endpoint', cell: ({ id, origin: at }) => <Link to={['webhooks', id]}>{at}</Link> },
                  { name: 'Event type', cell: (webhook) => webhook.eventType },
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
              {may('operator') && <OrderReplay webhooks={webhooks.filter((each) => each.status !== 'disabled')} />}
            </>
          );
        }}
      </Loaded>
    </Screen>
  );
}
