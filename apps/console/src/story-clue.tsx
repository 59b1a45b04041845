import { useSignal } from '@preact/signals';
import { ChoiceField, Empty, place, refine, TextField } from '@relay/ui';
import { EVENT_TYPES } from './words.js';

/** For an envelope that was never attempted: its type and about when it came lead to it in the log. */
export function Clue({ id }: { readonly id: string }) {
  const [type, around] = [useSignal(place.value.query['type'] ?? 'task.created'), useSignal('')];
  const submit = (event: Event): void => {
    event.preventDefault();
    if (around.value !== '') refine({ type: type.value, around: new Date(around.value).toISOString() });
  };
  return (
    <>
      <Empty title={`No attempt of ${id} is known`}>
        <p>If it was accepted and never attempted, it is found in the log by its type and about when it came.</p>
      </Empty>
      <form class="panel" onSubmit={submit}>
        <div class="filters">
          <ChoiceField label="Event type" value={type} choices={EVENT_TYPES.map((each) => [each, each] as const)} />
          <TextField label="Came about" type="datetime-local" value={around} isRequired hint="Your time." />
        </div>
        <div class="buttons">
          <button type="submit">Look in the log</button>
        </div>
      </form>
    </>
  );
}
