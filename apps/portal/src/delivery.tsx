import type { ComponentChildren } from 'preact';
import {
  Badge,
  Button,
  Curl,
  Drawer,
  Facts,
  Icon,
  Id,
  Link,
  Loaded,
  Notice,
  Time,
  Viewer,
  countOf,
  durationText,
  useLoad,
  type IconName,
  type Kind,
} from '@relay/ui';
import { allNames, api, mayWrite, type Answer } from './session.js';
import { causeOf, stateOf, titleOf, whyDead, type StoryAttempt, type StoryDelivery } from './words.js';

type Story = Answer<'readDeliveries'>;

const EVERY_MS = 5_000;

interface DrawerProps {
  /** Id of the envelope. */
  readonly id: string;
  /** Only its deliveries to this webhook are shown; to all webhooks if absent. */
  readonly webhookId: string | undefined;
  readonly below: string;
}

/** Shows the deliveries of one envelope to a webhook over their list: attempts, answers and the request. */
export function DeliveryDrawer({ id, webhookId, below }: DrawerProps) {
  const path = { envelopeId: id };
  const curl = api.curl('readDeliveries', { path });
  const loaded = useLoad(`delivery ${id}`, () => api.call('readDeliveries', { path }), EVERY_MS);
  const payload = useLoad(`payload ${id}`, async () => (await api.request('readPayload', { path })).text);
  return (
    <Drawer title="Delivery" below={below}>
      <Loaded of={loaded} what="the delivery">
        {(story) => {
          const shown = story.deliveries.filter((each) => webhookId === undefined || each.webhookId === webhookId);
          return (
            <>
              {story.incomplete.length > 0 && (
                <Notice kind="warn" title={`A part of the story is missing: ${awayIn(story)}`}>
                  <p>A delivery or an attempt may be missing. This page asks again every few seconds.</p>
                </Notice>
              )}
              {shown.map((each) => (
                <One key={each.id} story={story} delivery={each} changed={loaded.reload} />
              ))}
              {shown.length === 0 && <p>The relay knows no delivery of this envelope to this webhook.</p>}
            </>
          );
        }}
      </Loaded>
      <section class="part">
        <Loaded of={payload} what="the payload">
          {(text) => <Viewer heading={<h3>Request body</h3>} label="Envelope as your endpoint gets it" text={text} />}
        </Loaded>
      </section>
      <Curl line={`${curl}\n${api.curl('readPayload', { path })}`} />
    </Drawer>
  );
}

const PARTS = {
  redis: 'Redis is not available',
  kafka: 'Kafka does not answer',
  index: 'the index of attempts is behind',
} as const;
const awayIn = ({ incomplete }: Story): string => incomplete.map((part) => PARTS[part]).join(', ');

interface OneProps {
  readonly story: Story;
  readonly delivery: StoryDelivery;
  readonly changed: () => void;
}

/** One delivery: its state, and what became of it, oldest first. The last attempt is open. */
function One({ story, delivery, changed }: OneProps) {
  const { webhookId, state, acceptedAt, attempts, series, nextAttemptAt, waitsFor, reason } = delivery;
  const webhook = useLoad('names', allNames).value?.find((each) => each.id === webhookId);
  const { kind, word } = stateOf(state, attempts.length);
  const isDead = state === 'dead-letter';
  const retry = (id: string): void => {
    const input = { path: { envelopeId: story.id }, body: { webhookId: id } };
    api.ask('retryDeliveries', input, {
      title: 'Retry this delivery?',
      words: isDead
        ? 'Its schedule starts again, with an attempt as soon as your endpoint has room.'
        : 'It is attempted as soon as your endpoint has room, and keeps its place in the schedule.',
      verb: 'Retry now',
      done: changed,
      said: ({ retried }) => `${countOf(retried, 'delivery', 'deliveries')} will be attempted.`,
    });
  };
  return (
    <section class="part">
      <div class="screen-head">
        <h3>
          <code>{story.eventType ?? 'unknown event type'}</code> <Badge kind={kind}>{word}</Badge>
        </h3>
        {mayWrite.value && webhookId !== null && (isDead || state === 'waiting') && (
          <Button name="Retry" icon="retry" run={() => retry(webhookId)} isMain />
        )}
      </div>
      <Facts
        facts={[
          [
            'Webhook',
            webhookId === null ? (
              'all'
            ) : (
              <Link to={['webhooks', webhookId]} name={webhook ? titleOf(webhook) : delivery.host} />
            ),
          ],
          ['Envelope', <Id id={story.id} />],
          ['Replay', series === 0 ? undefined : series],
        ]}
      />
      <ol class="timeline">
        <Step icon="plus" kind="info">
          Accepted <Time at={acceptedAt} />
        </Step>
        {attempts.map((attempt, index) =>
          attempt.attempt === null ? (
            <Step key={attempt.at} icon="clock" kind="info">
              Ended without an attempt: {whyDead(attempt.reason)} <Time at={attempt.at} />
            </Step>
          ) : (
            <Attempt
              key={attempt.at}
              attempt={attempt}
              name={`Attempt ${attempt.attempt}`}
              isLast={index === attempts.length - 1}
              request={requestOf(story, attempt, webhook?.endPointUrl)}
            />
          ),
        )}
        {(nextAttemptAt !== null || waitsFor !== null) && (
          <Step icon="clock" kind="warn">
            {nextAttemptAt === null ? (
              'Waits'
            ) : (
              <>
                Next attempt <Time at={nextAttemptAt} />, waits
              </>
            )}{' '}
            {waitsFor !== null && WAITS[waitsFor]}
          </Step>
        )}
        {isDead && (
          <Step icon="cross" kind="bad">
            Dead letter: {whyDead(reason)}
          </Step>
        )}
      </ol>
    </section>
  );
}

const WAITS = {
  schedule: 'for its time in the schedule',
  'retry-after': 'until the time your endpoint asked for (Retry-After)',
  breaker: 'for a trial, because your endpoint failed often',
  room: 'until your endpoint has room',
  disabled: 'until the webhook is enabled',
  parked: 'until your endpoint takes deliveries again',
  replay: 'until the replay comes to it',
} as const;

interface StepProps {
  readonly icon: IconName;
  readonly kind: Kind;
  readonly children: ComponentChildren;
}

const Step = ({ icon, kind, children }: StepProps) => (
  <li>
    <span class={`badge ${kind} step`}>
      <Icon name={icon} />
    </span>
    <div>{children}</div>
  </li>
);

/** The steps of an attempt, by their members in the API. */
const STEPS: Readonly<Record<string, string>> = {
  waitMs: 'wait for a connection',
  dnsMs: 'DNS',
  connectMs: 'connect',
  tlsMs: 'TLS',
  firstByteMs: 'first byte',
};

interface AttemptProps {
  readonly attempt: StoryAttempt;
  readonly name: string;
  readonly isLast: boolean;
  readonly request: string;
}

/** One attempt: the answer of the endpoint, and the headers that it got. */
function Attempt({ attempt, name, isLast, request }: AttemptProps) {
  const { status, detail, answer, answerHeaders, durationMs, timing } = attempt;
  const isGood = status !== null && status >= 200 && status < 300;
  const { words } = causeOf(attempt);
  const steps = Object.entries(timing ?? {}).flatMap(([step, ms]) =>
    typeof ms === 'number' ? [`${STEPS[step] ?? step} ${durationText(ms)}`] : [],
  );
  const headers = Object.entries(answerHeaders ?? {}).map(([header, value]) => `${header}: ${value}`);
  return (
    <Step icon={isGood ? 'check' : 'cross'} kind={isGood ? 'good' : 'bad'}>
      <details open={isLast}>
        <summary>
          <strong>{name}</strong> {words} {durationMs !== null && <>after {durationText(durationMs)}</>}{' '}
          <span class="quiet">
            <Time at={attempt.at} />
          </span>
        </summary>
        <div class="stack">
          {detail !== null && detail !== words && !isGood && <p>{detail}</p>}
          {steps.length > 0 && <p class="quiet small">{steps.join(', ')}</p>}
          {headers.length > 0 && (
            <Viewer
              heading={<h4>Headers of the answer</h4>}
              label={`Headers of the answer to ${name}`}
              text={headers.join('\n')}
            />
          )}
          {answer === null ? (
            <p class="quiet small">The relay keeps no body of this answer.</p>
          ) : (
            <Viewer heading={<h4>Answer of your endpoint</h4>} label={`Answer to ${name}`} text={answer} />
          )}
          <Viewer heading={<h4>Request headers</h4>} label={`Headers of ${name}`} text={request} />
        </div>
      </details>
    </Step>
  );
}

/**
 * Returns the request line and the headers of an attempt, as docs/partners.md lists them. The relay stores neither the
 * signature nor the credential of an attempt.
 */
function requestOf({ id, eventType }: Story, { at, attempt }: StoryAttempt, url = ''): string {
  return [
    `POST ${url}`,
    'content-type: application/json',
    `webhook-id: ${id}`,
    `webhook-timestamp: ${Math.floor(Date.parse(at) / 1_000)}`,
    'webhook-signature: v1,…',
    `relay-event-type: ${eventType ?? ''}`,
    `relay-attempt: ${attempt ?? ''}`,
  ].join('\n');
}
