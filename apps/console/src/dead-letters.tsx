import type { ComponentChildren } from 'preact';
import {
  ask,
  Button,
  countOf,
  countText,
  Curl,
  Empty,
  Facts,
  Fault,
  given,
  go,
  Link,
  Loaded,
  Notice,
  place,
  Screen,
  shortId,
  Table,
  Time,
  useLoad,
  useTry,
  Viewer,
} from '@relay/ui';
import { type Answer, api, type Calls, may, mayLook, type QueryOf } from './session.js';
import { ClientLink, REASONS } from './words.js';

type Verb = 'replay' | 'purge';
type Selection = Calls['replayDeadLetters']['data']['body'];

const FILTERS = ['type', 'reason', 'webhook'] as const;
const SHOWN = 100;
/** Fewer equal dead letters are listed one by one. */
const FEWEST_SAME = 3;
const EVERY_MS = 10_000;

/** The page of dead letters. It counts them, filters them, and replays or purges all that match. */
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
  const [fault, attempt] = useTry();
  const chosen = FILTERS.filter((name) => query[name] !== '');
  const selection: Selection = chosen.length === 0 ? { all: true } : given<Selection>(query);
  const reload = (): void => (facets.reload(), list.reload());
  const change = (verb: Verb): void => attempt(() => changeLetters(verb, selection, reload));
  return (
    <Screen
      title="Dead letters"
      actions={
        may('operator') &&
        (facets.value?.matched ?? 0) > 0 && (
          <>
            <Button name="Replay these…" run={() => change('replay')} />
            <Button name="Purge these…" run={() => change('purge')} />
          </>
        )
      }
    >
      <Fault title="Nothing was counted" words={fault} />
      {chosen.length > 0 && (
        <p>
          Only {chosen.map((name) => `${name} ${query[name]}`).join(', ')}. <Link to={['dead-letters']}>Show all</Link>
        </p>
      )}
      <Loaded of={facets} what="counts">
        {(found) =>
          found.matched === 0 ? null : (
            <div class="columns">
              <Facet name="Reason" of={found.reasons} cell={(value) => only('reason', value, REASONS[value])} />
              <Facet name="Event type" of={found.types} cell={(value) => only('type', value)} />
              <Facet name="Webhook" of={found.webhooks} cell={(value) => only('webhook', value, shortId(value))} />
              <Facet name="Partner" of={found.partners} cell={(value) => <ClientLink id={value} />} />
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
      rows={groupsOf(of)}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Dead since',
          cell: ({ id, diedAt, eventType: type, reason, webhookId: webhook, same }) =>
            same < FEWEST_SAME ? (
              <Link to={['dead-letters', id]} name={<Time at={diedAt} />} />
            ) : (
              <>
                <Link to={['dead-letters']} query={{ type, reason, webhook }} name={countOf(same, 'dead letter')} />,
                newest <Time at={diedAt} isShort />
              </>
            ),
        },
        { name: 'Event type', cell: ({ eventType }) => eventType },
        { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
        {
          name: 'Why',
          // The reason `gone` already says that the endpoint answered 410.
          cell: ({ reason, lastFailure }) =>
            `${REASONS[reason] ?? reason}${lastFailure && reason !== 'gone' ? ` (${lastFailure})` : ''}`,
        },
        { name: 'Attempts', cell: ({ attempts }) => countText(attempts), isNumber: true },
      ]}
    />
  </>
);

/**
 * Returns dead letters with the number of the listed ones that have the same type, reason and webhook. It returns only the
 * newest of many, unless a type and a reason are chosen.
 */
function groupsOf(letters: LettersProps['of']) {
  const { type, reason } = place.value.query;
  const keys = letters.map((one) => (type && reason ? one.id : one.eventType + one.reason + one.webhookId));
  return letters
    .map((letter, n) => Object.assign({ same: keys.filter((key) => key === keys[n]).length }, letter))
    .filter(({ same }, n) => same < FEWEST_SAME || keys.indexOf(keys[n] ?? '') === n);
}

const only = (filter: (typeof FILTERS)[number], value: string, name = value) => (
  <Link to={['dead-letters']} query={{ ...place.value.query, [filter]: value }} name={name} />
);

interface FacetProps {
  readonly name: string;
  readonly of: readonly { readonly value: string; readonly count: number }[];
  readonly cell: (value: string) => ComponentChildren;
}

const Facet = ({ name, of, cell }: FacetProps) => (
  <div class="panel">
    <h2>{name}</h2>
    <ul class="facets">
      {of.map(({ value, count }) => (
        <li key={value}>
          {cell(value)}
          <span>{countText(count)}</span>
        </li>
      ))}
    </ul>
  </div>
);

/** The page of one dead letter with its envelope. Opening the page is audited. */
export const DeadLetterPage = ({ id }: { readonly id: string }) => (
  <Screen title="Dead letter">
    {mayLook('operator') ? (
      <Letter id={id} />
    ) : (
      <Empty title="Its envelope is for operators">
        <p>
          A viewer sees dead letters in the <Link to={['dead-letters']}>list</Link>.
        </p>
      </Empty>
    )}
  </Screen>
);

function Letter({ id }: { readonly id: string }) {
  const load = useLoad(id, () => api.call('readDeadLetter', { path: { id } }));
  const [fault, attempt] = useTry();
  const change = (verb: Verb): void => attempt(() => changeLetters(verb, { ids: [id] }, () => go(['dead-letters'])));
  return (
    <Loaded of={load} what="the dead letter">
      {(letter) => (
        <>
          {fault !== '' && <Notice kind="bad" title={fault} />}
          <div class="panel">
            <Facts
              facts={[
                ['Dead since', <Time key="died" at={letter.diedAt} />],
                ['Why', REASONS[letter.reason] ?? letter.reason],
                ['Last failure', [letter.lastFailure ?? '–', letter.lastAttempt?.answer].filter(Boolean).join(': ')],
                ['Attempts', letter.attempts],
                ['Accepted', <Time key="accepted" at={letter.acceptedAt} />],
                ['Event type', letter.eventType],
                ['Partner', <ClientLink key="partner" id={letter.partnerId} />],
                [
                  'Webhook',
                  <Link key="webhook" to={['webhooks', letter.webhookId]} name={shortId(letter.webhookId)} />,
                ],
                [
                  'Envelope',
                  <Link key="envelope" to={['envelopes', letter.envelopeId]} name={shortId(letter.envelopeId)} />,
                ],
              ]}
            />
            {may('operator') && (
              <div class="buttons">
                <Button name="Replay…" run={() => change('replay')} isMain />
                <Button name="Purge…" run={() => change('purge')} />
              </div>
            )}
            <Curl line={api.curl('readDeadLetter', { path: { id } })} />
          </div>
          <h2>Envelope</h2>
          <Viewer label="Envelope" text={letter.body} />
        </>
      )}
    </Loaded>
  );
}

/**
 * Counts the selected dead letters, asks once, and then replays or purges all of them.
 * @throws Refused if the count fails
 */
async function changeLetters(verb: Verb, selection: Selection, done: () => void): Promise<void> {
  const name = `${verb}DeadLetters` as const;
  const counted = await api.call(name, { body: { ...selection, dryRun: true } });
  const matched = 'matched' in counted ? counted.matched : 0;
  // `until` is the time of the count, so the change does not include dead letters that came later.
  const same = { ...selection, ...('until' in counted ? { until: counted.until } : {}) };
  const letters = `${'complete' in counted && !counted.complete ? 'at least ' : ''}${countOf(matched, 'dead letter')}`;
  ask({
    title: verb === 'replay' ? `Replay ${letters}?` : `Purge ${letters}?`,
    words:
      verb === 'replay'
        ? `${letters} will be delivered once more, with all attempts of the schedule.`
        : `${letters} will be removed for good. Nobody can replay them afterwards; the audit tells that you did it.`,
    verb: verb === 'replay' ? 'Replay' : 'Purge',
    isDangerous: verb === 'purge',
    curl: api.curl(name, { body: same }),
    run: async () => {
      const text = await changeAll(name, same);
      done();
      return text;
    },
  });
}

/** Maximum number of requests for one click. Each request takes up to 5 s, so a page should not send more. */
const ROUNDS = 1_000;

async function changeAll(name: `${Verb}DeadLetters`, selection: Selection): Promise<string> {
  let [count, refused] = [0, 0];
  let why = '';
  let after: string | undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const answer = await api.call(name, { body: { ...selection, ...(after === undefined ? {} : { after }) } });
    if ('matched' in answer) break;
    if ('purged' in answer) count += answer.purged;
    else {
      count += answer.replayed;
      refused += answer.refusedCount;
      why = answer.refused[0]?.why ?? why;
    }
    after = answer.after;
    if (answer.complete || after === undefined) break;
  }
  const rest = refused === 0 ? '' : ` ${countOf(refused, 'was', 'were')} refused: ${why}`;
  return `${countOf(count, 'dead letter')} ${name === 'replayDeadLetters' ? 'replayed' : 'purged'}.${rest}`;
}
