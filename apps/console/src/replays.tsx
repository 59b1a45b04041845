import {
  ask,
  Badge,
  ChoiceField,
  countText,
  durationText,
  Empty,
  type Kind,
  Link,
  Loaded,
  Screen,
  Table,
  Time,
  useLoad,
} from '@relay/ui';
import { useFilter } from './filters.js';
import { type Answer, api, given, may, type QueryOf } from './session.js';
import { choicesOf, ClientLink } from './words.js';

type Replay = Answer<'listReplays'>['replays'][number];

const KINDS: Readonly<Record<string, Kind>> = { running: 'good', paused: 'warn', done: 'info', cancelled: 'info' };

/** Replays of all partners, and how far they are. */
export function Replays() {
  const state = useFilter('state');
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
        {({ replays }) =>
          replays.length === 0 ? (
            <Empty title="There is no replay">
              <p>
                A replay delivers the envelopes of a time again. Order one on the page of a{' '}
                <Link to={['webhooks']}>webhook</Link>.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Replays, newest first"
              rows={replays}
              keyOf={({ id }) => id ?? ''}
              columns={[
                { name: 'Ordered', cell: ({ createdAt }) => <Time at={createdAt} /> },
                {
                  name: 'Webhook',
                  cell: ({ webhookId, eventType }) => <Link to={['webhooks', webhookId]}>{eventType}</Link>,
                },
                { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
                { name: 'By', cell: ({ orderedBy }) => orderedBy },
                { name: 'State', cell: (replay) => <Badge kind={KINDS[replay.state] ?? 'info'}>{replay.state}</Badge> },
                { name: 'How far', cell: (replay) => <Progress of={replay} /> },
                { name: 'Do', cell: (replay) => <Steps of={replay} done={load.reload} /> },
              ]}
            />
          )
        }
      </Loaded>
    </Screen>
  );
}

const Progress = ({ of: { done, matched, failed, secondsLeft } }: { readonly of: Replay }) => (
  <>
    {countText(done)} of {countText(matched)}
    {failed > 0 && `, ${countText(failed)} failed`}
    {secondsLeft !== null && secondsLeft > 0 && `, ${durationText(secondsLeft * 1_000)} left`}
  </>
);

const STEPS = {
  pauseReplay: { verb: 'Pause', done: 'The replay is paused.', words: 'can be resumed.' },
  resumeReplay: { verb: 'Resume', done: 'The replay goes on.', words: 'will be delivered.' },
  cancelReplay: { verb: 'End', done: 'The replay has ended.', words: 'will not be delivered again by it.' },
} as const;

function Steps({ of, done }: { readonly of: Replay; readonly done: () => void }) {
  if (!may('operator') || of.id === null || (of.state !== 'running' && of.state !== 'paused')) return <>–</>;
  const path = { id: of.id };
  const step = (name: keyof typeof STEPS): void =>
    ask({
      title: `${STEPS[name].verb} this replay?`,
      words: `${countText(of.done)} of ${countText(of.matched)} envelopes are handed over; the other ${countText(of.matched - of.done)} ${STEPS[name].words}`,
      verb: STEPS[name].verb,
      isDangerous: name === 'cancelReplay',
      curl: api.curl(name, { path }),
      run: async () => {
        await api.call(name, { path });
        done();
        return STEPS[name].done;
      },
    });
  const first = of.state === 'running' ? 'pauseReplay' : 'resumeReplay';
  return (
    <div class="buttons">
      <button type="button" onClick={() => step(first)}>
        {STEPS[first].verb}…
      </button>
      <button type="button" onClick={() => step('cancelReplay')}>
        End…
      </button>
    </div>
  );
}
