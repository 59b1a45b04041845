import { Badge, countText, Empty, type Kind, Link, Loaded, Screen, Table, useLoad } from '@relay/ui';
import { type Answer, api } from './session.js';
import { ClientLink, Since, troubleOf } from './words.js';

/** More lines than anybody reads: those in trouble are first. */
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
