import { countOf, Curl, Facts, Link, Loaded, Notice, Screen, Time, useLoad } from '@relay/ui';
import { ALL, Progress, ReplayTable, State, Steps } from './replay-table.js';
import { api } from './session.js';
import { leftOutText } from './words.js';

/** Replays that were ordered at once: how far they are together, and each. */
export function ReplayGroup({ id }: { readonly id: string }) {
  const path = { id };
  const load = useLoad(id, () => api.call('readReplayGroup', { path }), 3_000);
  return (
    <Screen title="Replays ordered at once">
      <Loaded of={load} what="the replays">
        {(group) => (
          <>
            <div class="panel">
              <Facts
                facts={[
                  ['State', <State key="state" of={group.state} />],
                  ['How far', <Progress key="far" of={group} />],
                  ['Envelopes', group.status === 'failed' ? 'those whose delivery failed' : 'all'],
                  [
                    'Accepted from',
                    group.since === null ? 'the begin of the log' : <Time key="since" at={group.since} />,
                  ],
                  ['Accepted until', group.until === null ? 'the order' : <Time key="until" at={group.until} />],
                  ['Ordered', <Time key="ordered" at={group.createdAt} />],
                  ...(group.endedAt === null ? [] : [['Ended', <Time key="ended" at={group.endedAt} />] as const]),
                  ...(group.leftOut.length === 0 ? [] : [['Left out', leftOutText(group.leftOut)] as const]),
                ]}
              />
              <Steps of={group} calls={ALL} done={load.reload} />
              <Curl line={api.curl('readReplayGroup', { path })} />
            </div>
            {group.missing.length > 0 && (
              <Notice kind="warn" title={`${countOf(group.missing.length, 'replay was', 'replays were')} not ordered`}>
                <p>The process was killed before. Order them again: those under way are left out.</p>
              </Notice>
            )}
            <ReplayTable replays={group.replays} done={load.reload} />
            <Link to={['replays']}>See all replays</Link>
          </>
        )}
      </Loaded>
    </Screen>
  );
}
