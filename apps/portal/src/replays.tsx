import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import {
  Badge,
  Button,
  ChoiceField,
  Curl,
  Empty,
  Fault,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  Time,
  countOf,
  countText,
  durationText,
  place,
  useLoad,
  useTry,
  type Choices,
} from '@relay/ui';
import { allNames, api, choicesOf, mayWrite, type Answer, type Named } from './session.js';

const EVERY_MS = 3_000;

/** Form to order a replay, and the list of replays with their progress. */
export function Replays() {
  const replays = useLoad('replays', () => api.call('listReplays', {}), EVERY_MS);
  const names = useLoad('names', allNames);
  return (
    <Screen title="Replays">
      {mayWrite.value && (
        <Loaded of={names} what="your webhooks">
          {(webhooks) => webhooks.length > 0 && <Order webhooks={webhooks} ordered={replays.reload} />}
        </Loaded>
      )}
      <Loaded of={replays} what="the replays">
        {({ replays: all }) => <List replays={all} names={choicesOf(names.value ?? [])} changed={replays.reload} />}
      </Loaded>
      <Curl line={api.curl('listReplays', {})} />
    </Screen>
  );
}

const KINDS = { failed: 'Dead letters', all: 'All' };

function Order({ webhooks, ordered }: { readonly webhooks: readonly Named[]; readonly ordered: () => void }) {
  const fields = useMemo(
    () => ({
      webhookId: signal(place.value.query['webhookId'] ?? webhooks[0]?.id ?? ''),
      status: signal('failed'),
      since: signal(''),
      until: signal(''),
    }),
    [],
  );
  const [fault, attempt] = useTry();
  const inputOf = (dryRun: boolean) => ({
    path: { id: fields.webhookId.value },
    body: {
      status: fields.status.value === 'all' ? ('all' as const) : ('failed' as const),
      ...timeIn('since', fields.since.value),
      ...timeIn('until', fields.until.value),
      ...(dryRun ? { dryRun } : {}),
    },
  });
  const count = async (): Promise<void> => {
    const { matched, createdAt } = await api.call('replayWebhook', inputOf(true));
    // The replay ends at the time of the count, so that it includes no envelope that was accepted later.
    const { path, body } = inputOf(false);
    const counted = { path, body: { until: createdAt, ...body } };
    api.ask('replayWebhook', counted, {
      title: 'Replay deliveries?',
      words: `Your endpoint gets up to ${countOf(matched, 'delivery', 'deliveries')} once more, with the same webhook-id as before.`,
      verb: 'Replay',
      done: ordered,
      said: 'The replay has begun.',
    });
  };
  const open = (event: Event): void => {
    event.preventDefault();
    attempt(count);
  };
  return (
    <form class="panel" onSubmit={open} aria-label="New replay">
      <h2>Replay deliveries</h2>
      <Fault title="The deliveries could not be counted" words={fault} />
      <div class="filters">
        <ChoiceField label="Webhook" value={fields.webhookId} choices={choicesOf(webhooks)} />
        <ChoiceField label="Which" value={fields.status} choices={KINDS} />
        <TextField label="Accepted from" type="datetime-local" value={fields.since} hint="In your time zone." />
        <TextField label="Accepted until" type="datetime-local" value={fields.until} hint="Now, if empty." />
      </div>
      <div class="buttons">
        <Button name="Count deliveries" isMain />
      </div>
    </form>
  );
}

const timeIn = (name: string, local: string): Record<string, string> =>
  local === '' ? {} : { [name]: new Date(local).toISOString() };

const STATES = { 'dry-run': 'info', running: 'info', paused: 'warn', done: 'good', cancelled: 'warn' } as const;
type Replay = Answer<'listReplays'>['replays'][number];

interface ListProps {
  readonly replays: readonly Replay[];
  readonly names: Choices;
  readonly changed: () => void;
}

const List = ({ replays, names, changed }: ListProps) => (
  <Table
    caption="Replays, newest first"
    rows={replays}
    keyOf={({ id }) => id ?? ''}
    columns={[
      { name: 'Ordered', cell: ({ createdAt }) => <Time at={createdAt} /> },
      { name: 'Webhook', cell: ({ webhookId: id }) => <Link to={['webhooks', id]}>{names[id] ?? id}</Link> },
      { name: 'Which', cell: ({ status }) => (status === 'all' ? 'all' : 'dead letters') },
      { name: 'State', cell: ({ state }) => <Badge kind={STATES[state]}>{state}</Badge> },
      { name: 'Progress', cell: (replay) => <Progress replay={replay} /> },
      { name: 'Failed', isNumber: true, cell: ({ failed }) => countText(failed) },
      { name: 'Action', cell: (replay) => <Cancel replay={replay} changed={changed} /> },
    ]}
    empty={
      <Empty title="No replay yet">
        <p>A replay delivers the envelopes of a time once more, or the dead letters.</p>
      </Empty>
    }
  />
);

function Progress({ replay: { matched, done, failed, secondsLeft, state } }: { readonly replay: Replay }) {
  const ended = done + failed;
  return (
    <>
      <progress max={Math.max(1, matched)} value={ended} aria-label="Progress" />
      <p class="small">
        {countText(ended)} of {countText(matched)}
        {state === 'running' && secondsLeft !== null && `, ${durationText(secondsLeft * 1_000)} left`}
      </p>
    </>
  );
}

function Cancel({ replay: { id, state }, changed }: { readonly replay: Replay; readonly changed: () => void }) {
  if (id === null || !mayWrite.value || (state !== 'running' && state !== 'paused')) return <>–</>;
  const input = { path: { id } };
  const open = (): void =>
    api.ask('cancelReplay', input, {
      title: 'Cancel the replay?',
      words: 'The remaining deliveries are not sent. Deliveries that were sent stay.',
      verb: 'Cancel the replay',
      isDangerous: true,
      done: changed,
      said: 'The replay is cancelled.',
    });
  return <Button name="Cancel" run={open} />;
}
