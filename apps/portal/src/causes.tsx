import { Button, Fault, Link, ask, countOf, place, useTry } from '@relay/ui';
import type { DeliveryQuery } from './by-hour.js';
import { api, mayWrite, type Answer } from './session.js';
import { causesIn, type Delivery } from './words.js';

interface CausesProps {
  /** Path of the page that has the list. */
  readonly at: readonly string[];
  readonly rows: readonly Delivery[];
  readonly query: DeliveryQuery;
  readonly retried: () => void;
}

/** Lists the failures among the rows by their cause, and offers to retry all deliveries that the filters select. */
export function Causes({ at, rows, query, retried }: CausesProps) {
  const causes = causesIn(rows);
  if (causes.length === 0) return null;
  return (
    <section class="panel">
      <h2>Why deliveries failed</h2>
      <ul class="causes">
        {causes.map(({ cause, count }) => (
          <li key={cause.words}>
            <Link to={at} query={{ ...place.value.query, ...cause.query, cursor: undefined }} name={cause.words} />{' '}
            <span class="quiet">{countOf(count, 'delivery', 'deliveries')} shown</span>
          </li>
        ))}
      </ul>
      {mayWrite.value && (
        <div class="buttons">
          <RetryAll query={query} status="dead" retried={retried} />
          <RetryAll query={query} status="waiting" retried={retried} />
        </div>
      )}
    </section>
  );
}

interface RetryAllProps extends Pick<CausesProps, 'query' | 'retried'> {
  readonly status: 'dead' | 'waiting';
}

function RetryAll({ query, status, retried }: RetryAllProps) {
  const [fault, attempt] = useTry();
  if (query.status !== undefined && query.status !== status) return null;
  const { webhookId, status: _, ...rest } = query;
  const body = { ...rest, status, ...(webhookId === undefined ? {} : { webhookIds: [webhookId] }) };
  const name = status === 'dead' ? 'dead letters' : 'waiting';
  const count = async (): Promise<void> => {
    const { matched, cursor, until } = await api.call('retrySelection', { body: { ...body, dryRun: true } });
    // The retry ends at the time of the count, so that it includes no delivery that came later.
    const counted = { ...body, until };
    const many = `${cursor === null ? '' : 'more than '}${countOf(matched, 'delivery', 'deliveries')}`;
    ask({
      title: `Retry all ${name}?`,
      words: `${many} that the filters select will be attempted as soon as the endpoint has room.`,
      verb: 'Retry all',
      curl: api.curl('retrySelection', { body: counted }),
      run: async () => {
        const done = await retryAll(counted);
        retried();
        return `${countOf(done, 'delivery', 'deliveries')} will be attempted.`;
      },
    });
  };
  return (
    <>
      <Button name={`Retry all ${name}`} icon="retry" run={() => attempt(count)} />
      <Fault title="The deliveries could not be counted" words={fault} />
    </>
  );
}

/** Retries all selected deliveries, a hundred for each call. */
async function retryAll(body: Parameters<typeof api.call<'retrySelection'>>[1]['body']): Promise<number> {
  let sum = 0;
  let cursor: string | null = null;
  do {
    const answer: Answer<'retrySelection'> = await api.call('retrySelection', {
      body: cursor === null ? body : { ...body, cursor },
    });
    sum += answer.retried;
    cursor = answer.cursor;
  } while (cursor !== null);
  return sum;
}
