import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { Notice, Screen, TextField, relayNow } from '@relay/ui';
import { judge, type Judgement } from './signature.js';

/** Verifies a delivery for the developer who is stuck. */
export function Verify() {
  const fields = useMemo(
    () => ({ id: signal(''), timestamp: signal(''), signature: signal(''), body: signal(''), secret: signal('') }),
    [],
  );
  const [judgement, setJudgement] = useState<Judgement>();
  const verify = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { id, timestamp, signature, body, secret } = fields;
    const given = { id: id.value, timestamp: timestamp.value, signature: signature.value, body: body.value };
    setJudgement(await judge({ ...given, secret: secret.value }, relayNow()));
  };
  return (
    <Screen title="Verify a delivery">
      <p class="quiet">Copy what your endpoint received. Nothing of it leaves this page.</p>
      <div role="status" class="said">
        {judgement?.kind === 'genuine' && (
          <Notice kind="good" title="It is from the relay">
            <p>{judgement.words}</p>
          </Notice>
        )}
        {judgement?.kind === 'false' && (
          <Notice kind="bad" title={judgement.title}>
            <p>{judgement.words}</p>
          </Notice>
        )}
      </div>
      <form class="panel" onSubmit={(event) => void verify(event)} noValidate aria-label="Delivery">
        <TextField label="webhook-id" value={fields.id} isRequired />
        <TextField label="webhook-timestamp" value={fields.timestamp} isRequired />
        <TextField label="webhook-signature" value={fields.signature} isRequired />
        <TextField label="Body, as it came" value={fields.body} lines={6} />
        <TextField label="Signing secret" type="password" value={fields.secret} isRequired />
        <div class="buttons">
          <button type="submit" class="main">
            Verify
          </button>
        </div>
      </form>
    </Screen>
  );
}
