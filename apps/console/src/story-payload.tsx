import { useSignal } from '@preact/signals';
import { Notice, Viewer, wordsOf } from '@relay/ui';
import { api, type Calls } from './session.js';

type Input = Pick<Calls['readEnvelope']['data'], 'path' | 'query'>;

/** The envelope as its source sent it, when an operator asks for it: the look is audited. */
export function Payload({ input }: { readonly input: Input }) {
  const [text, fault] = [useSignal<string | undefined>(undefined), useSignal('')];
  const read = async (): Promise<void> => {
    fault.value = '';
    try {
      text.value = (await api.request('readEnvelope', input)).text;
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  return (
    <div class="panel">
      {fault.value !== '' && <Notice kind="bad" title={fault.value} />}
      {text.value === undefined ? (
        <div class="buttons">
          <button type="button" onClick={() => void read()}>
            Read the envelope
          </button>
          <span class="quiet">The audit tells that you did.</span>
        </div>
      ) : (
        <Viewer label="Envelope" text={text.value} />
      )}
    </div>
  );
}
