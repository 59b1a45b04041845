import { useSignal } from '@preact/signals';
import {
  ask,
  Badge,
  Button,
  ChoiceField,
  countOf,
  countText,
  durationText,
  Empty,
  Fault,
  given,
  go,
  type Kind,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  Time,
  useFilters,
  useLoad,
  useTry,
} from '@relay/ui';
import { type Answer, api, type Calls, may, type QueryOf } from './session.js';
import { choicesOf, ClientLink } from './words.js';

/** The page of the replays of all partners, with their progress. */
export function Replays() {
  const { state } = useFilters('state');
  const load = useLoad(
    state.value.value,
    () => api.call('listReplays', { query: given<QueryOf<'listReplays'>>({ state: state.value.value }) }),
    3_000,
  );
  return (
    <Screen title="Replays">
      <div class="filters">
        <ChoiceField label="State" {...state} choices={choicesOf(['running', 'paused', 'done', 'cancelled'], 'any')} />
      </div>
      <Loaded of={load} what="replays">
        {({ replays }) => <ReplayTable replays={replays} done={load.reload} />}
      </Loaded>
    </Screen>
  );
}

type Replay = Answer<'listReplays'>['replays'][number];

const KINDS: Readonly<Record<string, Kind>> = { running: 'good', paused: 'warn', done: 'info', cancelled: 'info' };

const ReplayTable = ({ replays, done }: { readonly replays: readonly Replay[]; readonly done: () => void }) => (
  <Table
    caption="Replays, newest first"
    rows={replays}
    keyOf={({ id }) => id ?? ''}
    columns={[
      { name: 'Ordered', cell: ({ createdAt }) => <Time at={createdAt} /> },
      { name: 'Webhook', cell: ({ webhookId, eventType }) => <Link to={['webhooks', webhookId]}>{eventType}</Link> },
      { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
      { name: 'By', cell: ({ orderedBy }) => orderedBy },
      { name: 'State', cell: ({ state }) => <Badge kind={KINDS[state] ?? 'info'}>{state}</Badge> },
      { name: 'Progress', cell: (replay) => <Progress of={replay} /> },
      { name: 'Actions', cell: (replay) => <Steps of={replay} done={done} /> },
    ]}
    empty={
      <Empty title="There is no replay">
        <p>
          A replay delivers the envelopes of a time again. Order one on the page of a{' '}
          <Link to={['webhooks']}>webhook</Link>, or of all that a filter leaves.
        </p>
      </Empty>
    }
  />
);

const Progress = ({ of: { done, matched, failed, secondsLeft } }: { readonly of: Replay }) => (
  <>
    {countText(done)} of {countText(matched)}
    {failed > 0 && `, ${countText(failed)} failed`}
    {secondsLeft !== null && secondsLeft > 0 && `, ${durationText(secondsLeft * 1_000)} left`}
  </>
);

/** The changes of a replay, each with the words that the page shows for it. */
const STEPS = {
  pauseReplay: { verb: 'Pause', words: 'can be resumed.', said: 'The replay is paused.' },
  resumeReplay: { verb: 'Resume', words: 'will be delivered.', said: 'The replay goes on.' },
  cancelReplay: { verb: 'End', words: 'will not be delivered again.', said: 'The replay has ended.' },
} as const;

/** Buttons with which an operator changes a replay that has not ended. */
function Steps({ of, done }: { readonly of: Replay; readonly done: () => void }) {
  if (!may('operator') || of.id === null || (of.state !== 'running' && of.state !== 'paused')) return <>–</>;
  const input = { path: { id: of.id } };
  const button = (call: keyof typeof STEPS) => {
    const { verb, words, said } = STEPS[call];
    const rest = countText(of.matched - of.done);
    const run = (): void =>
      api.ask(call, input, {
        title: `${verb} this replay?`,
        words: `${countText(of.done)} of ${countText(of.matched)} envelopes are handed over; the other ${rest} ${words}`,
        verb,
        isDangerous: call === 'cancelReplay',
        done,
        said,
      });
    return <Button name={`${verb}…`} run={run} />;
  };
  return (
    <div class="buttons">
      {button(of.state === 'running' ? 'pauseReplay' : 'resumeReplay')}
      {button('cancelReplay')}
    </div>
  );
}

type Webhook = Pick<Answer<'listWebhooks'>['webhooks'][number], 'id' | 'origin'>;
type Order = Calls['orderReplay']['data']['body'];

const WHICH = { all: 'all envelopes', failed: 'those whose delivery failed' };

/** Maximum number of webhooks in one order. */
const MOST = 1_000;
/** Maximum number of webhooks that the question lists. */
const NAMED = 10;

interface CountedProps {
  readonly of: OrderedReplays;
  readonly webhooks: readonly Webhook[];
  readonly which: string;
}

/** Shows how many envelopes an order replays, in total and for each webhook. */
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

const orderEach = async (body: Order): Promise<OrderedReplays> =>
  (await api.call('orderReplay', { body })) as OrderedReplays;

/** A form that delivers the envelopes of a time once more, to one webhook or to several. It counts them before it orders. */
export function OrderReplay({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const [since, until, status] = [useSignal(''), useSignal(''), useSignal('all')];
  const [fault, attempt, setFault] = useTry();
  const orderOf = (): Order => ({
    webhooks: webhooks.map(({ id }) => id),
    status: status.value === 'failed' ? 'failed' : 'all',
    ...(since.value === '' ? {} : { since: new Date(since.value).toISOString() }),
    ...(until.value === '' ? {} : { until: new Date(until.value).toISOString() }),
  });
  const plan = (event: Event): void => {
    event.preventDefault();
    attempt(count);
  };
  const count = async (): Promise<void> => {
    const body = orderOf();
    const counted = await orderEach({ ...body, dryRun: true });
    const [first] = counted.replays;
    if (first === undefined) {
      setFault(`None of them can get a replay: ${leftOutText(counted.leftOut)}.`);
      return;
    }
    // `until` is the time of the count, so the replay does not include envelopes that were accepted later.
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
  };
  if (webhooks.length === 0) return null;
  return (
    <form class="panel" onSubmit={plan}>
      <h2>Replay</h2>
      {webhooks.length > MOST ? (
        <p>Filter the list down to {countText(MOST)} webhooks to replay them together.</p>
      ) : (
        <>
          <div class="filters">
            <TextField label="From" type="datetime-local" value={since} hint="Your time. Empty: 7 days back." />
            <TextField label="Until" type="datetime-local" value={until} hint="Your time. Empty: now." />
            <ChoiceField label="Which" value={status} choices={WHICH} />
          </div>
          <Fault title="Nothing was counted" words={fault} />
          <div class="buttons">
            <Button name="Replay…" />
          </div>
        </>
      )}
    </form>
  );
}

const LEFT_OUT = {
  unknown: 'registered no more',
  disabled: 'disabled',
  running: 'with another replay under way',
} as const;

type OrderedReplays = Extract<Answer<'orderReplay'>, { leftOut: unknown }>;

/** Says why webhooks get no replay, for example `2 disabled, 1 with another replay under way`. */
function leftOutText(leftOut: OrderedReplays['leftOut']): string {
  const reasons = Object.entries(LEFT_OUT).map(([why, words]) => ({
    count: leftOut.filter((each) => each.why === why).length,
    words,
  }));
  return reasons
    .filter(({ count }) => count > 0)
    .map(({ count, words }) => `${count} ${words}`)
    .join(', ');
}
