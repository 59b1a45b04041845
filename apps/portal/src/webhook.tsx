import { useState } from 'preact/hooks';
import {
  Badge,
  Button,
  Curl,
  Empty,
  Facts,
  Link,
  Loaded,
  Screen,
  Time,
  Viewer,
  countOf,
  countText,
  durationText,
  fragmentOf,
  place,
  relayNow,
  useLoad,
} from '@relay/ui';
import { useLastDay } from './by-hour.js';
import { CountsChart } from './counts-chart.js';
import { List, Rows } from './deliveries.js';
import { DeliveryDrawer } from './delivery.js';
import { TestAnswer, saidOf } from './endpoint.js';
import { Settings } from './settings.js';
import { api, forgetNames, mayWrite, type Answer } from './session.js';
import { causeOf, healthOf, titleOf, type WebhookState } from './words.js';

const EVERY_MS = 10_000;
/** Rows of the overview. */
const RECENT = 10;

export const TABS = ['overview', 'deliveries', 'settings'] as const;

interface WebhookProps {
  readonly id: string;
  readonly tab: (typeof TABS)[number];
  /** Envelope whose delivery is open in the drawer. */
  readonly envelopeId: string | undefined;
}

/** Page of one webhook: how it does, its deliveries, its settings. */
export function Webhook({ id, tab, envelopeId }: WebhookProps) {
  const input = { path: { id } };
  const loaded = useLoad(id, () => api.request('readWebhook', input), EVERY_MS);
  const state = useLoad(`state ${id}`, () => stateOf(id), EVERY_MS);
  const [tested, setTested] = useState<Answer<'testWebhook'>>();
  const changed = (): void => {
    forgetNames();
    loaded.reload();
    state.reload();
  };
  const test = (): void =>
    api.ask('testWebhook', input, {
      title: 'Send a test delivery?',
      words: 'Your endpoint gets one sample now, marked with the header relay-test: true.',
      verb: 'Send test',
      done: (answer) => {
        setTested(answer);
        changed();
      },
      said: saidOf,
    });
  const webhook = loaded.value?.body;
  const at = ['webhooks', id, tab];
  return (
    <Screen
      title={webhook === undefined ? 'Webhook' : titleOf(webhook)}
      actions={mayWrite.value && <Button name="Send a test delivery" icon="send" run={test} isMain />}
    >
      {webhook !== undefined && (
        <p class="quiet">
          <code>{webhook.eventType}</code> {webhook.endPointName !== null && <>to {webhook.endPointUrl}</>}
        </p>
      )}
      <nav class="tabs" aria-label="Webhook">
        {TABS.map((each) => (
          <a key={each} href={fragmentOf(['webhooks', id, each])} aria-current={each === tab ? 'page' : undefined}>
            {each}
          </a>
        ))}
      </nav>
      {tested !== undefined && <TestAnswer result={tested} />}
      {loaded.error !== undefined && loaded.value === undefined && tab !== 'settings' && (
        <Loaded of={loaded} what="the webhook">
          {() => null}
        </Loaded>
      )}
      {tab === 'overview' && (
        <Loaded of={state} what="the state of the webhook">
          {(value) => value !== undefined && <Overview webhook={value} at={at} />}
        </Loaded>
      )}
      {tab === 'deliveries' && <List at={at} webhookId={id} />}
      {/* The form stays while another tab is shown, with all that was typed. */}
      <div class="stack" hidden={tab !== 'settings'}>
        <Loaded of={loaded} what="the webhook">
          {({ body, headers }) => <Settings webhook={body} version={headers.get('etag') ?? ''} changed={changed} />}
        </Loaded>
      </div>
      {tab !== 'deliveries' && <Curl line={api.curl('readWebhook', input)} />}
      {envelopeId !== undefined && (
        <DeliveryDrawer id={envelopeId} webhookId={id} below={fragmentOf(at, place.value.query)} />
      )}
    </Screen>
  );
}

/** Reads the state from the list of webhooks, so that the list and this page show the same. */
const stateOf = async (id: string): Promise<WebhookState | undefined> =>
  (await api.call('listWebhookStates', { query: { webhookId: id } })).webhooks[0];

interface OverviewProps {
  readonly webhook: WebhookState;
  readonly at: readonly string[];
}

/** How the webhook does: its state, the last failure, the last 24 hours, and the newest deliveries. */
function Overview({ webhook, at }: OverviewProps) {
  const { id, lastDelivered } = webhook;
  const lastDay = useLastDay(id);
  const to = ['webhooks', id, 'deliveries'];
  return (
    <>
      <Verdict webhook={webhook} />
      <section class="panel figures" aria-label="Figures">
        <Facts
          facts={[
            ['Success, last 24 hours', successOf(webhook)],
            ['Last delivered', lastDelivered === null ? '–' : <Time at={lastDelivered.at} isShort />],
            ['Waiting', <Link to={to} query={{ status: 'waiting' }} name={countText(webhook.waiting)} />],
            ['Dead letters', <Link to={to} query={{ status: 'dead' }} name={countText(webhook.dead)} />],
          ]}
        />
      </section>
      <Loaded of={lastDay} what="the last 24 hours">
        {(deliveries) => (
          <>
            <CountsChart webhookId={webhook.id} />
            <div class="screen-head">
              <h2>Newest deliveries</h2>
              <Link to={to} name="All deliveries" />
            </div>
            <Rows
              at={at}
              webhookId={id}
              rows={deliveries.slice(0, RECENT)}
              empty={<Empty title="No delivery in the last 24 hours" />}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

/** The state in words, and the last failure with what the endpoint answered. */
function Verdict({ webhook }: { readonly webhook: WebhookState }) {
  const { kind, word, words } = healthOf(webhook, relayNow());
  const { id, lastFailure } = webhook;
  return (
    <section class={`notice ${kind}`} aria-label="State">
      <p>
        <Badge kind={kind}>{word}</Badge> {words}
      </p>
      {lastFailure === null ? (
        <p class="quiet">No attempt failed in the last 24 hours.</p>
      ) : (
        <>
          <p class="quiet">
            Last failure: {causeOf(lastFailure).words} after {durationText(lastFailure.durationMs)},{' '}
            <Time at={lastFailure.at} />
          </p>
          {lastFailure.answer !== undefined && (
            <Viewer
              heading={<strong>Answer of your endpoint</strong>}
              label="Answer to the last failure"
              text={lastFailure.answer}
            />
          )}
        </>
      )}
      {webhook.dead > 0 && (
        <Link to={['webhooks', id, 'deliveries']} query={{ status: 'dead' }}>
          See {countOf(webhook.dead, 'dead letter')}
        </Link>
      )}
    </section>
  );
}

/** The share of successful attempts. It is never rounded up to all or down to none. */
function successOf({ delivered, failedAttempts, failureRate }: WebhookState) {
  if (failureRate === null) return '–';
  const percent = (1 - failureRate) * 100;
  const isWhole = failureRate === 0 || failureRate === 1;
  return (
    <>
      {isWhole ? percent : Math.min(99.9, Math.max(0.1, percent)).toFixed(1)} %
      <span class="quiet small"> of {countOf(delivered + failedAttempts, 'attempt')}</span>
    </>
  );
}
