import { ask, Badge, countText, durationText, type Kind, Link, Table, Time } from '@relay/ui';
import { type Answer, api, may } from './session.js';
import { ClientLink } from './words.js';

export type Replay = Answer<'listReplays'>['replays'][number];
type HowFar = Pick<Replay, 'done' | 'matched' | 'failed' | 'secondsLeft'>;

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
      {
        name: 'Ordered',
        cell: ({ createdAt, groupId }) =>
          groupId === null ? (
            <Time at={createdAt} />
          ) : (
            <Link to={['replays', groupId]}>
              <Time at={createdAt} />
            </Link>
          ),
      },
      {
        name: 'Webhook',
        cell: ({ webhookId, eventType }) => <Link to={['webhooks', webhookId]}>{eventType}</Link>,
      },
      { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
      { name: 'By', cell: ({ orderedBy }) => orderedBy },
      { name: 'State', cell: ({ state }) => <State of={state} /> },
      { name: 'How far', cell: (replay) => <Progress of={replay} /> },
      { name: 'Do', cell: (replay) => <Steps of={replay} calls={ONE} done={done} /> },
    ]}
  />
);

export const State = ({ of }: { readonly of: Replay['state'] }) => <Badge kind={KINDS[of] ?? 'info'}>{of}</Badge>;

export const Progress = ({ of: { done, matched, failed, secondsLeft } }: { readonly of: HowFar }) => (
  <>
    {countText(done)} of {countText(matched)}
    {failed > 0 && `, ${countText(failed)} failed`}
    {secondsLeft !== null && secondsLeft > 0 && `, ${durationText(secondsLeft * 1_000)} left`}
  </>
);

/** Changes of one replay: each call, its button, and what is said of it. */
const ONE = {
  title: 'this replay',
  pause: { call: 'pauseReplay', button: 'Pause…', said: 'The replay is paused.' },
  resume: { call: 'resumeReplay', button: 'Resume…', said: 'The replay goes on.' },
  cancel: { call: 'cancelReplay', button: 'End…', said: 'The replay has ended.' },
} as const;
/** Changes of all replays of a group. */
export const ALL = {
  title: 'all of these replays',
  pause: { call: 'pauseReplayGroup', button: 'Pause all…', said: 'The replays are paused.' },
  resume: { call: 'resumeReplayGroup', button: 'Resume all…', said: 'The replays go on.' },
  cancel: { call: 'cancelReplayGroup', button: 'End all…', said: 'The replays have ended.' },
} as const;

const STEPS = {
  pause: { verb: 'Pause', words: 'can be resumed.' },
  resume: { verb: 'Resume', words: 'will be delivered.' },
  cancel: { verb: 'End', words: 'will not be delivered again.' },
} as const;

interface StepsProps {
  readonly of: Pick<Replay, 'id' | 'state' | 'done' | 'matched'>;
  readonly calls: typeof ONE | typeof ALL;
  readonly done: () => void;
}

/** What an operator can do with replays that are under way. */
export function Steps({ of, calls, done }: StepsProps) {
  if (!may('operator') || of.id === null || (of.state !== 'running' && of.state !== 'paused')) return <>–</>;
  const path = { id: of.id };
  const step = (name: keyof typeof STEPS): void =>
    ask({
      title: `${STEPS[name].verb} ${calls.title}?`,
      words: `${countText(of.done)} of ${countText(of.matched)} envelopes are handed over; the other ${countText(of.matched - of.done)} ${STEPS[name].words}`,
      verb: STEPS[name].verb,
      isDangerous: name === 'cancel',
      curl: api.curl(calls[name].call, { path }),
      run: async () => {
        await api.call(calls[name].call, { path });
        done();
        return calls[name].said;
      },
    });
  const first = of.state === 'running' ? 'pause' : 'resume';
  return (
    <div class="buttons">
      <button type="button" onClick={() => step(first)}>
        {calls[first].button}
      </button>
      <button type="button" onClick={() => step('cancel')}>
        {calls.cancel.button}
      </button>
    </div>
  );
}
