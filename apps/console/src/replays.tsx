import { ChoiceField, Empty, Link, Loaded, Screen, useLoad } from '@relay/ui';
import { useFilter } from './filters.js';
import { ReplayTable } from './replay-table.js';
import { api, given, type QueryOf } from './session.js';
import { choicesOf } from './words.js';

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
                <Link to={['webhooks']}>webhook</Link>, or of all that a filter leaves.
              </p>
            </Empty>
          ) : (
            <ReplayTable replays={replays} done={load.reload} />
          )
        }
      </Loaded>
    </Screen>
  );
}
