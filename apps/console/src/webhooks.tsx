import {
  Badge,
  Button,
  ChoiceField,
  countOf,
  countText,
  Curl,
  Empty,
  Facts,
  given,
  Id,
  type Kind,
  Link,
  Loaded,
  Notice,
  place,
  Screen,
  Table,
  TextField,
  useFilters,
  useLoad,
} from '@relay/ui';
import { WebhookChart } from './charts.js';
import { OrderReplay } from './replays.js';
import { type Answer, api, may, type QueryOf } from './session.js';
import { choicesOf, ClientLink, shareText, Since, Trouble, troubleOf, useEventTypes, WebhookTable } from './words.js';

const TROUBLES = {
  '': 'any or none',
  breaker: 'breaker open',
  failing: 'failing',
  waiting: 'waiting',
};
const ORDERS = {
  '': 'by event type',
  waiting: 'most waiting first',
  oldestWaiting: 'longest wait first',
  failureRate: 'most failures first',
};

/** Webhooks of all partners, by what troubles them. */
export function Webhooks() {
  const filters = useFilters('status', 'trouble', 'eventType', 'partner', 'sort');
  const { origin, ...query } = place.value.query;
  const load = useLoad(
    JSON.stringify(query),
    () => api.call('listWebhooks', { query: given<QueryOf<'listWebhooks'>>(query) }),
    10_000,
  );
  return (
    <Screen title="Webhooks">
      <div class="filters">
        <ChoiceField label="Status" {...filters.status} choices={choicesOf(['active', 'parked', 'disabled'], 'any')} />
        <ChoiceField label="Trouble" {...filters.trouble} choices={TROUBLES} />
        <ChoiceField label="Event type" {...filters.eventType} choices={choicesOf(useEventTypes(), 'any')} />
        <TextField label="Partner" {...filters.partner} hint="Its client id." />
        <ChoiceField label="Order" {...filters.sort} choices={ORDERS} />
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
              <WebhookTable caption="Webhooks" of={webhooks} />
              {may('operator') && <OrderReplay webhooks={webhooks.filter((each) => each.status !== 'disabled')} />}
            </>
          );
        }}
      </Loaded>
    </Screen>
  );
}

/** One webhook: what troubles it, and what an operator can do about it. */
export function WebhookPage({ id }: { readonly id: string }) {
  const load = useLoad(id, () => api.call('readWebhook', { path: { id } }), 5_000);
  return (
    <Screen
      title="Webhook"
      actions={load.value !== undefined && may('operator') && <Switch webhook={load.value} done={load.reload} />}
    >
      <Loaded of={load} what="the webhook">
        {(webhook) => (
          <>
            <div class="panel">
              <Facts facts={factsOf(webhook)} />
              <div class="buttons">
                <Link to={['search']} query={{ webhook: id }} name="Its attempts" />
                <Link to={['dead-letters']} query={{ webhook: id }} name="Its dead letters" />
                <Link to={['audit']} query={{ webhook: id }} name="Who changed it" />
              </div>
              <Curl line={api.curl('readWebhook', { path: { id } })} />
            </div>
            <WebhookChart id={id} />
            {webhook.status === 'parked' && (
              <Notice kind="warn" title="It is parked">
                <p>
                  Its deliveries wait in the log until its endpoint answers, at most 7 days. Nothing is lost by then.
                </p>
              </Notice>
            )}
            {may('operator') && webhook.status !== 'disabled' && <OrderReplay webhooks={[webhook]} />}
          </>
        )}
      </Loaded>
    </Screen>
  );
}

const factsOf = (webhook: Answer<'readWebhook'>) =>
  [
    ['Endpoint', `${webhook.origin}${webhook.path}`],
    ['Event type', webhook.eventType],
    ['Partner', <ClientLink key="partner" id={webhook.partnerId} />],
    ['State', <Trouble key="state" of={webhook} />],
    ['Share of failed attempts', shareText(webhook.failureRate)],
    ['Waiting in the queue', countText(webhook.waiting)],
    ['Oldest waits since', <Since key="oldest" at={webhook.oldestWaitingSince} none="none waits" />],
    ['Failing since', <Since key="failing" at={webhook.failingSince} none="it does not" />],
    ['Breaker', webhook.breaker],
    ['Next attempt', <Since key="next" at={webhook.notBefore} none="as soon as there is one" />],
    ['Id', <Id key="id" id={webhook.id} />],
  ] as const;

function Switch({ webhook, done }: { readonly webhook: Answer<'readWebhook'>; readonly done: () => void }) {
  const input = { path: { id: webhook.id } };
  const isOff = webhook.status === 'disabled';
  const click = (): void =>
    api.ask(isOff ? 'enableWebhook' : 'disableWebhook', input, {
      title: isOff ? 'Enable this webhook?' : 'Disable this webhook?',
      words: isOff ? (
        <p>
          {countOf(webhook.waiting, 'waiting delivery', 'waiting deliveries')} will be tried, and new ones will be
          delivered to {webhook.origin}.
        </p>
      ) : (
        <p>
          Nothing will be sent to {webhook.origin}. {countOf(webhook.waiting, 'delivery waits', 'deliveries wait')}, and
          new ones will wait as well. Only an operator can enable it again.
        </p>
      ),
      verb: isOff ? 'Enable' : 'Disable',
      isDangerous: !isOff,
      done,
      said: isOff ? 'The webhook is enabled.' : 'The webhook is disabled.',
    });
  return <Button name={isOff ? 'Enable…' : 'Disable…'} run={click} />;
}

/** Longest list of endpoints. More lines are of no use: endpoints in trouble are first. */
const MOST = 500;

/** The servers that deliveries go to, those in the worst trouble first. */
export function Endpoints() {
  const load = useLoad('endpoints', () => api.call('listWebhooks', { query: { limit: 10_000 } }), 10_000);
  return (
    <Screen title="Endpoints">
      <p class="quiet">One line for each partner and server, those in trouble first.</p>
      <Loaded of={load} what="endpoints">
        {({ webhooks }) => {
          const endpoints = endpointsOf(webhooks);
          return (
            <>
              {endpoints.length > MOST && (
                <p class="quiet">
                  The first {MOST} of {countText(endpoints.length)} are shown.
                </p>
              )}
              <Table
                caption="Endpoints by trouble"
                rows={endpoints.slice(0, MOST)}
                keyOf={({ partnerId, origin }) => `${partnerId} ${origin}`}
                columns={[
                  {
                    name: 'Endpoint',
                    cell: ({ origin, partnerId: partner }) => (
                      <Link to={['webhooks']} query={{ partner, origin }} name={origin} />
                    ),
                  },
                  { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
                  { name: 'State', cell: ({ kind, text }) => <Badge kind={kind}>{text}</Badge> },
                  { name: 'Failing since', cell: ({ failingSince }) => <Since at={failingSince} isShort /> },
                  { name: 'Next attempt', cell: ({ notBefore }) => <Since at={notBefore} none="now" isShort /> },
                  { name: 'Webhooks', cell: (row) => countText(row.webhooks), isNumber: true },
                  { name: 'Waiting', cell: ({ waiting }) => countText(waiting), isNumber: true },
                ]}
                empty={<Empty title="No partner has registered a webhook yet" />}
              />
            </>
          );
        }}
      </Loaded>
    </Screen>
  );
}

type Webhook = Answer<'listWebhooks'>['webhooks'][number];

/** A partner’s server, and the worst that its webhooks say of it. */
interface Endpoint {
  readonly partnerId: string;
  readonly origin: string;
  readonly kind: Kind;
  readonly text: string;
  readonly failingSince: string | null;
  readonly notBefore: string | null;
  readonly webhooks: number;
  readonly waiting: number;
}

const WORST: readonly Kind[] = ['bad', 'warn', 'info', 'good'];
const first = (a: string | null, b: string | null): string | null => (a === null || (b !== null && b < a) ? b : a);

/** The endpoints of webhooks, those in the worst trouble first, then those with most waiting deliveries. */
function endpointsOf(webhooks: readonly Webhook[]): Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const webhook of webhooks) {
    const { partnerId, origin } = webhook;
    const own = { partnerId, origin, ...troubleOf(webhook), webhooks: 1 };
    const { failingSince, notBefore, waiting } = webhook;
    const before = found.get(`${partnerId} ${origin}`);
    found.set(
      `${partnerId} ${origin}`,
      before === undefined
        ? { ...own, failingSince, notBefore, waiting }
        : {
            ...(WORST.indexOf(own.kind) < WORST.indexOf(before.kind) ? own : before),
            failingSince: first(before.failingSince, failingSince),
            notBefore: first(before.notBefore, notBefore),
            webhooks: before.webhooks + 1,
            waiting: before.waiting + waiting,
          },
    );
  }
  return [...found.values()].toSorted((a, b) => WORST.indexOf(a.kind) - WORST.indexOf(b.kind) || b.waiting - a.waiting);
}
