import { Badge, Curl, Empty, Link, Loaded, Screen, Table, Time, countText, useLoad } from '@relay/ui';
import { api, mayAdd } from './session.js';
import { Sparkline } from './sparkline.js';
import { healthOf, type Delivery, type WebhookState } from './words.js';

const EVERY_MS = 15_000;
const DAY_MS = 86_400_000;

/** Every webhook and how it is. */
export function Overview() {
  const states = useLoad('states', () => api.call('listWebhookStates', {}), EVERY_MS);
  const recent = useLoad('recent', () => api.call('listAllDeliveries', { query: recentQuery() }), EVERY_MS);
  const deliveries = recent.value?.deliveries ?? [];
  return (
    <Screen
      title="Webhooks"
      actions={
        mayAdd.value && (
          <Link to={['add']} isButton>
            Add a webhook
          </Link>
        )
      }
    >
      <Loaded of={states} what="your webhooks">
        {({ webhooks }) => (webhooks.length === 0 ? <None /> : <List webhooks={webhooks} deliveries={deliveries} />)}
      </Loaded>
      {recent.error !== undefined && states.error === undefined && (
        <Loaded of={recent} what="the last day">
          {() => null}
        </Loaded>
      )}
      <Curl line={api.curl('listWebhookStates', {})} />
    </Screen>
  );
}

const recentQuery = (): { since: string; limit: string } => ({
  since: new Date(Date.now() - DAY_MS).toISOString(),
  limit: '200',
});

const None = () => (
  <Empty title="You have no webhook yet">
    <p>A webhook is an address of yours that gets every event of a type.</p>
    {mayAdd.value && (
      <Link to={['add']} isButton>
        Add the first one
      </Link>
    )}
  </Empty>
);

interface ListProps {
  readonly webhooks: readonly WebhookState[];
  readonly deliveries: readonly Delivery[];
}

function List({ webhooks, deliveries }: ListProps) {
  const nowMs = Date.now();
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
              <Link to={['deliveries']} query={{ status: 'dead', webhookId: id }}>
                {countText(dead)}
              </Link>
            ),
        },
      ]}
    />
  );
}

function State({ webhook, nowMs }: { readonly webhook: WebhookState; readonly nowMs: number }) {
  const { kind, word, words } = healthOf(webhook, nowMs);
  return (
    <>
      <Badge kind={kind}>{word}</Badge>
      <p class="small">{words}</p>
    </>
  );
}

/** When the next waiting delivery is tried. */
function NextAttempt({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const [next] = deliveries.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).toSorted();
  if (next === undefined) return null;
  return (
    <p class="quiet small">
      next <Time at={next} isShort />
    </p>
  );
}
