import { Badge, Curl, Facts, Link, Loaded, Screen, Time, Viewer, ask, countOf, durationText, useLoad } from '@relay/ui';
import { api, mayWrite } from './session.js';
import { STATUS, causeOf, givenUp, type Attempt, type Delivery as Shown } from './words.js';

const EVERY_MS = 5_000;

/** What became of one envelope at the webhooks that got it. */
export function Delivery({ id }: { readonly id: string }) {
  const path = { envelopeId: id };
  const loaded = useLoad(id, () => api.call('readDeliveries', { path }), EVERY_MS);
  const payload = useLoad(id, async () => (await api.request('readPayload', { path })).text);
  return (
    <Screen title="Delivery">
      <p class="quiet">
        Envelope <code>{id}</code>
      </p>
      <Loaded of={loaded} what="its deliveries">
        {({ deliveries }) =>
          deliveries.map((each) => (
            <One key={`${each.webhookId} ${each.series}`} delivery={each} changed={loaded.reload} />
          ))
        }
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

interface OneProps {
  readonly delivery: Shown;
  readonly changed: () => void;
}

function One({ delivery, changed }: OneProps) {
  const { envelopeId, webhookId, eventType, status, acceptedAt, at, attempts, nextAttemptAt, waitsFor, reason } =
    delivery;
  const input = { path: { envelopeId }, body: { webhookId } };
  const retry = (): void =>
    ask({
      title: 'Retry this delivery?',
      words:
        status === 'dead'
          ? 'Its schedule starts again, with an attempt as soon as your endpoint has room.'
          : 'It is attempted as soon as your endpoint has room, and keeps its place in the schedule.',
      verb: 'Retry it',
      curl: api.curl('retryDeliveries', input),
      run: async () => {
        const { retried } = await api.call('retryDeliveries', input);
        changed();
        return `${countOf(retried, 'delivery', 'deliveries')} will be attempted.`;
      },
    });
  return (
    <section class="panel">
      <div class="screen-head">
        <h2>
          <Link to={['webhooks', webhookId]}>{eventType}</Link>{' '}
          <Badge kind={STATUS[status]}>{status === 'dead' ? 'given up' : status}</Badge>
        </h2>
        {mayWrite.value && status !== 'delivered' && (
          <button type="button" class="main" onClick={retry}>
            Retry
          </button>
        )}
      </div>
      <Facts
        facts={[
          ['Accepted', <Time at={acceptedAt} />],
          [status === 'delivered' ? 'Delivered' : 'Last change', <Time at={at} />],
          ...(status === 'waiting'
            ? ([
                ['Next attempt', nextAttemptAt === null ? WAITS[waitsFor ?? 'endpoint'] : <Time at={nextAttemptAt} />],
              ] as const)
            : []),
          ...(status === 'dead' ? ([['Given up, because', givenUp(reason)]] as const) : []),
        ]}
      />
      {attempts.length > 0 && <Attempts attempts={attempts} />}
    </section>
  );
}

const WAITS = {
  schedule: 'now',
  endpoint: 'when your endpoint has room',
  webhook: 'when the webhook is enabled',
} as const;

/** Each attempt with how long it took beside the longest, and what was answered. */
function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const longest = Math.max(1, ...attempts.map(({ durationMs }) => durationMs));
  return (
    <ol class="attempts">
      {attempts.map((attempt, index) => {
        const isGood = attempt.status !== undefined && attempt.status >= 200 && attempt.status < 300;
        const width = Math.max(1, (attempt.durationMs / longest) * 100);
        return (
          <li key={attempt.at}>
            <p>
              <strong>Attempt {index + 1}</strong> <Time at={attempt.at} />
            </p>
            <p>
              <Badge kind={isGood ? 'good' : 'bad'}>{causeOf(attempt).words}</Badge>{' '}
              <span class="quiet">after {durationText(attempt.durationMs)}</span>
            </p>
            <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect width={width} height="4" class={isGood ? 'arrived' : 'lost'} />
            </svg>
            {attempt.detail !== undefined && !isGood && <p class="small">{attempt.detail}</p>}
            {attempt.answer !== undefined && <Viewer label={`Answer to attempt ${index + 1}`} text={attempt.answer} />}
          </li>
        );
      })}
    </ol>
  );
}
