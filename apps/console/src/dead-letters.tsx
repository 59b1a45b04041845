import { useSignal } from '@preact/signals';
import {
  countText,
  Curl,
  Empty,
  Link,
  Loaded,
  Notice,
  place,
  Screen,
  Table,
  Time,
  useLoad,
  wordsOf,
  countOf,
} from '@relay/ui';
import { changeLetters, type Selection } from './letter-changes.js';
import { type Answer, api, given, may, type QueryOf } from './session.js';
import { ClientLink, REASONS } from './words.js';

const FILTERS = ['type', 'reason', 'webhook'] as const;
const SHOWN = 100;
const EVERY_MS = 10_000;

/** Deliveries that were given up, by facet; replayed and purged together. */
export function DeadLetters() {
  const query = Object.fromEntries(FILTERS.map((name) => [name, place.value.query[name] ?? '']));
  const key = JSON.stringify(query);
  const facets = useLoad(
    `facets ${key}`,
    () => api.call('countDeadLetters', { query: given<QueryOf<'countDeadLetters'>>(query) }),
    EVERY_MS,
  );
  const list = useLoad(
    `list ${key}`,
    () => api.call('listDeadLetters', { query: given<QueryOf<'listDeadLetters'>>({ ...query, limit: SHOWN }) }),
    EVERY_MS,
  );
  const fault = useSignal('');
  const chosen = FILTERS.filter((name) => query[name] !== '');
  const selection: Selection = chosen.length === 0 ? { all: true } : given<Selection>(query);
  const reload = (): void => {
    facets.reload();
    list.reload();
  };
  const change = (verb: 'replay' | 'purge'): void => {
    fault.value = '';
    changeLetters(verb, selection, reload).catch((error: unknown) => (fault.value = wordsOf(error)));
  };
  return (
    <Screen
      title="Dead letters"
      actions={
        may('operator') &&
        (facets.value?.matched ?? 0) > 0 && (
          <>
            <button type="button" onClick={() => change('replay')}>
              Replay these…
            </button>
            <button type="button" onClick={() => change('purge')}>
              Purge these…
            </button>
          </>
        )
      }
    >
      {fault.value !== '' && (
        <Notice kind="bad" title="Nothing was counted">
          <p>{fault.value}</p>
        </Notice>
      )}
      {chosen.length > 0 && (
        <p>
          Only {chosen.map((name) => `${name} ${query[name]}`).join(', ')}. <Link to={['dead-letters']}>Show all</Link>
        </p>
      )}
      <Loaded of={facets} what="counts">
        {(found) =>
          found.matched === 0 ? null : (
            <div class="columns">
              <Facet name="Reason" filter="reason" of={found.reasons} words={REASONS} />
              <Facet name="Event type" filter="type" of={found.types} />
              <Facet name="Webhook" filter="webhook" of={found.webhooks} />
              <div class="panel">
                <h2>Partner</h2>
                <ul class="facets">
                  {found.partners.map(({ value, count }) => (
                    <li key={value}>
                      <ClientLink id={value} />
                      <span>{countText(count)}</span>
                    </li>
                  ))}
                </ul>
              </div>
            </div>
          )
        }
      </Loaded>
      <Loaded of={list} what="dead letters">
        {({ deadLetters }) =>
          deadLetters.length === 0 ? (
            <Empty title="There is no dead letter">
              <p>A delivery becomes one when all its attempts failed. Each is kept for 30 days.</p>
            </Empty>
          ) : (
            <Letters of={deadLetters} matched={facets.value?.matched} />
          )
        }
      </Loaded>
      <Curl line={api.curl('listDeadLetters', { query: given<QueryOf<'listDeadLetters'>>(query) })} />
    </Screen>
  );
}

interface LettersProps {
  readonly of: Answer<'listDeadLetters'>['deadLetters'];
  readonly matched: number | undefined;
}

const Letters = ({ of, matched = of.length }: LettersProps) => (
  <>
    <p class="quiet">
      {matched > of.length ? `The newest ${of.length} of ${countText(matched)}` : countOf(of.length, 'dead letter')}
    </p>
    <Table
      caption="Dead letters, newest first"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Given up',
          cell: ({ id, diedAt }) => (
            <Link to={['dead-letters', id]}>
              <Time at={diedAt} />
            </Link>
          ),
        },
        { name: 'Event type', cell: ({ eventType }) => eventType },
        { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
        {
          name: 'Why',
          // Its reason says the answer already where that is 410.
          cell: ({ reason, lastFailure }) =>
            `${REASONS[reason] ?? reason}${lastFailure && reason !== 'gone' ? ` (${lastFailure})` : ''}`,
        },
        { name: 'Attempts', cell: ({ attempts }) => countText(attempts), isNumber: true },
      ]}
    />
  </>
);

interface FacetProps {
  readonly name: string;
  readonly filter: (typeof FILTERS)[number];
  readonly of: readonly { readonly value: string; readonly count: number }[];
  readonly words?: Readonly<Record<string, string>>;
}

const Facet = ({ name, filter, of, words = {} }: FacetProps) => (
  <div class="panel">
    <h2>{name}</h2>
    <ul class="facets">
      {of.map(({ value, count }) => (
        <li key={value}>
          <Link to={['dead-letters']} query={{ ...place.value.query, [filter]: value }}>
            {words[value] ?? value}
          </Link>
          <span>{countText(count)}</span>
        </li>
      ))}
    </ul>
  </div>
);
