import { ask, Badge, countText, durationText, type Kind, Link, Table, Time } from '@relay/ui';
import { type Answer, api, may } from './session.js';
import { ClientLink } from './words.js';

type Replay = Answer<'listReplays'>['replays'][number];

const KINDS: Readonly<Record<string, Kind>> = { running: 'good', paused: 'warn', done: 'info', cancelled: 'info' };

interface ReplayTableProps {
  readonly replays: readonly Replay[];
  readonly done: () => void;
}

/** Replays and how far each is. */
export const ReplayTable = ({ replays, done }: ReplayTableProps) => (
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
      { name: 'How far', cell: (replay) => <Progress of={replay} /> },
      { name: 'Do', cell: (replay) => <Steps of={replay} done={done} /> },
    ]}
  />
);

const Progress = ({ of: { done, matched, failed, secondsLeft } }: { readonly of: Replay }) => (
  <>
    {countText(done)} of {countText(matched)}
    {failed > 0 && `, ${countText(failed)} failed`}
    {secondsLeft !== null && secondsLeft > 0 && `, ${durationText(secondsLeft * 1_000)} left`}
  </>
);

/** Each change of a replay, and what is said of it. */
const STEPS = {
  pauseReplay: { verb: 'Pause', words: 'can be resumed.', said: 'The replay is paused.' },
  resumeReplay: { verb: 'Resume', words: 'will be delivered.', said: 'The replay goes on.' },
  cancelReplay: { verb: 'End', words: 'will not be delivered again.', said: 'The replay has ended.' },
} as const;

/** What an operator can do with a replay that is under way. */
function Steps({ of, done }: { readonly of: Replay; readonly done: () => void }) {
  if (!may('operator') || of.id === null || (of.state !== 'running' && of.state !== 'paused')) return <>–</>;
  const path = { id: of.id };
  const button = (call: keyof typeof STEPS) => (
    <button
      type="button"
      onClick={() =>
        ask({
          title: `${STEPS[call].verb} this replay?`,
          words: `${countText(of.done)} of ${countText(of.matched)} envelopes are handed over; the other ${countText(of.matched - of.done)} ${STEPS[call].words}`,
          verb: STEPS[call].verb,
          isDangerous: call === 'cancelReplay',
          curl: api.curl(call, { path }),
          run: async () => {
            await api.call(call, { path });
            done();
            return STEPS[call].said;
          },
        })
      }
    >
      {STEPS[call].verb}…
    </button>
  );
  return (
    <div class="buttons">
      {button(of.state === 'running' ? 'pauseReplay' : 'resumeReplay')}
      {button('cancelReplay')}
    </div>
  );
}
