import { useSignal } from '@preact/signals';
import { ask, ChoiceField, countOf, countText, go, Notice, TextField, wordsOf } from '@relay/ui';
import { type Answer, api, type Calls } from './session.js';
import { leftOutText, type OrderedReplays } from './words.js';

type Webhook = Pick<Answer<'listWebhooks'>['webhooks'][number], 'id' | 'origin'>;
type Order = Calls['orderReplay']['data']['body'];

/** Webhooks of one order. */
const MOST = 1_000;
/** Webhooks that the question names. */
const NAMED = 10;

interface CountedProps {
  readonly of: OrderedReplays;
  readonly webhooks: readonly Webhook[];
  readonly which: string;
}

/** What an order will do, in numbers: in all, and webhook by webhook. */
function Counted({ of: { replays, leftOut }, webhooks, which }: CountedProps) {
  const matched = replays.reduce((sum, replay) => sum + replay.matched, 0);
  const origins = new Map(webhooks.map(({ id, origin }) => [id, origin]));
  const most = replays.toSorted((a, b) => b.matched - a.matched).slice(0, NAMED);
  return (
    <>
      <p>
        {countOf(matched, 'envelope')} {which === 'failed' ? 'whose delivery failed ' : ''}will be delivered again to{' '}
        {countOf(replays.length, 'webhook')}, throttled, beside new ones. You can pause and end each replay.
      </p>
      {replays.length > 1 && (
        <ul>
          {most.map(({ webhookId, eventType, matched: own }) => (
            <li key={webhookId}>
              {countText(own)} of {eventType} to {origins.get(webhookId)}
            </li>
          ))}
          {replays.length > NAMED && <li>and to {countOf(replays.length - NAMED, 'webhook')} with no more each</li>}
        </ul>
      )}
      {leftOut.length > 0 && <p>Left out: {leftOutText(leftOut)}.</p>}
    </>
  );
}

/** Orders replays to several webhooks, or counts them. */
const orderEach = async (body: Order): Promise<OrderedReplays> =>
  (await api.call('orderReplay', { body })) as OrderedReplays;

/** Orders deliveries of a time once more, to one webhook or to several; counts first. */
export function OrderReplay({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const [since, until, status, fault] = [useSignal(''), useSignal(''), useSignal('all'), useSignal('')];
  const orderOf = (): Order => ({
    webhooks: webhooks.map(({ id }) => id),
    status: status.value === 'failed' ? 'failed' : 'all',
    ...(since.value === '' ? {} : { since: new Date(since.value).toISOString() }),
    ...(until.value === '' ? {} : { until: new Date(until.value).toISOString() }),
  });
  const plan = async (event: Event): Promise<void> => {
    event.preventDefault();
    fault.value = '';
    const body = orderOf();
    try {
      const counted = await orderEach({ ...body, dryRun: true });
      const [first] = counted.replays;
      if (first === undefined) {
        fault.value = `None of them can get a replay: ${leftOutText(counted.leftOut)}.`;
        return;
      }
      // With the time of the count as its end, the replay takes no envelope that was accepted later.
      const same = { until: first.createdAt, ...body };
      ask({
        title: `Replay ${countOf(counted.replays.length, 'webhook')}?`,
        words: <Counted of={counted} webhooks={webhooks} which={status.value} />,
        verb: 'Replay',
        curl: api.curl('orderReplay', { body: same }),
        run: async () => {
          const { replays, leftOut } = await orderEach(same);
          go(['replays']);
          const without = leftOut.length === 0 ? '' : `; left out: ${leftOutText(leftOut)}`;
          return `${countOf(replays.length, 'replay')} ordered${without}.`;
        },
      });
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  if (webhooks.length === 0) return null;
  return (
    <form class="panel" onSubmit={(event) => void plan(event)}>
      <h2>Deliver again</h2>
      {webhooks.length > MOST ? (
        <p>Filter the list down to {countText(MOST)} webhooks to replay them together.</p>
      ) : (
        <>
          <div class="filters">
            <TextField label="From" type="datetime-local" value={since} hint="Your time. Empty: 7 days back." />
            <TextField label="Until" type="datetime-local" value={until} hint="Your time. Empty: now." />
            <ChoiceField
              label="Which"
              value={status}
              choices={[
                ['all', 'all envelopes'],
                ['failed', 'those whose delivery failed'],
              ]}
            />
          </div>
          {fault.value !== '' && (
            <Notice kind="bad" title="Nothing was counted">
              <p>{fault.value}</p>
            </Notice>
          )}
          <div class="buttons">
            <button type="submit">Count, then ask</button>
          </div>
        </>
      )}
    </form>
  );
}
