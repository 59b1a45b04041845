import {
  Badge,
  Button,
  Curl,
  Facts,
  Link,
  Loaded,
  Notice,
  Screen,
  Time,
  Viewer,
  countOf,
  durationText,
  useLoad,
} from '@relay/ui';
import { api, mayWrite, type Answer } from './session.js';
import { STATES, causeOf, givenUp, type StoryAttempt, type StoryDelivery } from './words.js';

type Story = Answer<'readDeliveries'>;

const EVERY_MS = 5_000;

/** Shows the deliveries of one envelope, by webhook. */
export function Delivery({ id }: { readonly id: string }) {
  const path = { envelopeId: id };
  const loaded = useLoad(id, () => api.call('readDeliveries', { path }), EVERY_MS);
  const payload = useLoad(`payload ${id}`, async () => (await api.request('readPayload', { path })).text);
  return (
    <Screen title="Delivery">
      <p class="quiet">
        Envelope <code>{id}</code>
      </p>
      <Loaded of={loaded} what="its deliveries">
        {(story) => (
          <>
            {story.incomplete.length > 0 && (
              <Notice kind="warn" title={`Not all of it is known now: ${awayIn(story)}`}>
                <p>A delivery or an attempt may be missing. This page asks again by itself.</p>
              </Notice>
            )}
            {story.deliveries.map((each) => (
              <One key={each.id} story={story} delivery={each} changed={loaded.reload} />
            ))}
          </>
        )}
      </Loaded>
      <section class="panel">
        <h2>Payload</h2>
        <Loaded of={payload} what="the payload">
          {(text) => <Viewer label="Envelope as your endpoint gets it" text={text} />}
        </Loaded>
        <Curl line={api.curl('readPayload', { path })} />
      </section>
      <Curl line={api.curl('readDeliveries', { path })} />
    </Screen>
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

function One({ story, delivery, changed }: OneProps) {
  const { webhookId, state, acceptedAt, attempts, nextAttemptAt, waitsFor, reason } = delivery;
  const last = attempts.at(-1);
  const isGivenUp = state === 'dead-letter';
  const retry = (id: string): void => {
    const input = { path: { envelopeId: story.id }, body: { webhookId: id } };
    api.ask('retryDeliveries', input, {
      title: 'Retry this delivery?',
      words: isGivenUp
        ? 'Its schedule starts again, with an attempt as soon as your endpoint has room.'
        : 'It is attempted as soon as your endpoint has room, and keeps its place in the schedule.',
      verb: 'Retry it',
      done: changed,
      said: ({ retried }) => `${countOf(retried, 'delivery', 'deliveries')} will be attempted.`,
    });
  };
  return (
    <section class="panel">
      <div class="screen-head">
        <h2>
          {webhookId === null ? (
            'All webhooks'
          ) : (
            <Link to={['webhooks', webhookId]}>{story.eventType ?? 'Webhook'}</Link>
          )}{' '}
          <Badge kind={STATES[state].kind}>{STATES[state].word}</Badge>
        </h2>
        {mayWrite.value && webhookId !== null && (isGivenUp || state === 'waiting') && (
          <Button name="Retry" run={() => retry(webhookId)} isMain />
        )}
      </div>
      <Facts
        facts={[
          ['Accepted', <Time at={acceptedAt} />],
          [state === 'delivered' ? 'Delivered' : 'Last attempt', last && <Time at={last.at} />],
          ['Next attempt', nextAttemptAt === null ? undefined : <Time at={nextAttemptAt} />],
          ['Waits', waitsFor === null ? undefined : WAITS[waitsFor]],
          ['Given up, because', isGivenUp ? givenUp(reason) : undefined],
        ]}
      />
      {attempts.length > 0 && <Attempts attempts={attempts} />}
    </section>
  );
}

const WAITS = {
  schedule: 'for its time in the schedule',
  'retry-after': 'until the time your endpoint asked for (Retry-After)',
  breaker: 'for a trial, since your endpoint failed often',
  room: 'until your endpoint has room',
  disabled: 'until the webhook is enabled',
  parked: 'until your endpoint takes deliveries again',
  replay: 'until the replay comes to it',
} as const;

/** Lists the attempts. For each one, shows the answer and its duration as a bar relative to the longest attempt. */
function Attempts({ attempts }: { readonly attempts: readonly StoryAttempt[] }) {
  const longest = Math.max(1, ...attempts.map(({ durationMs }) => durationMs ?? 0));
  return (
    <ol class="attempts">
      {attempts.map((attempt, index) => {
        const isGood = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
        const { words } = causeOf(attempt);
        const width = Math.max(1, ((attempt.durationMs ?? 0) / longest) * 100);
        return (
          <li key={attempt.at}>
            <p>
              <strong>Attempt {index + 1}</strong> <Time at={attempt.at} />
            </p>
            <p>
              <Badge kind={isGood ? 'good' : 'bad'}>{words}</Badge>{' '}
              {attempt.durationMs !== null && <span class="quiet">after {durationText(attempt.durationMs)}</span>}
            </p>
            <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect width={width} height="4" class={isGood ? 'arrived' : 'lost'} />
            </svg>
            {attempt.detail !== null && attempt.detail !== words && !isGood && <p class="small">{attempt.detail}</p>}
            {attempt.answer !== null && <Viewer label={`Answer to attempt ${index + 1}`} text={attempt.answer} />}
          </li>
        );
      })}
    </ol>
  );
}
