import { useSignal } from '@preact/signals';
import { ask, ChoiceField, countOf, go, Notice, TextField, wordsOf } from '@relay/ui';
import { type Answer, api, type Calls } from './session.js';

type Webhook = Pick<Answer<'listWebhooks'>['webhooks'][number], 'id' | 'origin'>;
type Order = Calls['orderReplay']['data']['body'];

/** Webhooks in one go: each is an order of its own, and a look at the log of its own. */
const MOST = 50;

/** Orders deliveries of a time once more, to one webhook or to several; counts first. */
export function OrderReplay({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const [since, until, status, fault] = [useSignal(''), useSignal(''), useSignal('all'), useSignal('')];
  const orderOf = ({ id }: Webhook): Order => ({
    webhook: id,
    status: status.value === 'failed' ? 'failed' : 'all',
    ...(since.value === '' ? {} : { since: new Date(since.value).toISOString() }),
    ...(until.value === '' ? {} : { until: new Date(until.value).toISOString() }),
  });
  const plan = async (event: Event): Promise<void> => {
    event.preventDefault();
    fault.value = '';
    const orders = webhooks.map(orderOf);
    try {
      const counted = await Promise.all(
        orders.map((body) => api.call('orderReplay', { body: { ...body, dryRun: true } })),
      );
      const matched = counted.reduce((sum, each) => sum + each.matched, 0);
      ask({
        title: `Replay ${countOf(webhooks.length, 'webhook')}?`,
        words: (
          <p>
            {countOf(matched, 'envelope')} {status.value === 'failed' ? 'whose delivery failed ' : ''}will be delivered
            again to {countOf(webhooks.length, 'webhook')}, throttled, beside new ones. You can pause and end each
            replay.
          </p>
        ),
        verb: 'Replay',
        curl: orders.map((body) => api.curl('orderReplay', { body })).join('\n'),
        run: async () => {
          for (const body of orders) await api.call('orderReplay', { body });
          go(['replays']);
          return `${countOf(orders.length, 'replay')} ordered.`;
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
        <p>Filter the list down to {MOST} webhooks to replay them together.</p>
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
