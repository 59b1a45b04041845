import { useSignal } from '@preact/signals';
import { Notice, Screen, TextField, wordsOf } from '@relay/ui';
import { ended, enter } from './session.js';

/** Client id and secret of an operator for a session of this browser. */
export function SignIn() {
  const [id, secret, fault, isBusy] = [useSignal(''), useSignal(''), useSignal(''), useSignal(false)];
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    fault.value = '';
    try {
      await enter(id.value.trim(), secret.value.trim());
    } catch (error) {
      fault.value = wordsOf(error);
      isBusy.value = false;
    }
  };
  return (
    <div class="sign-in">
      <Screen title="Sign in">
        <form class="panel" onSubmit={(event) => void submit(event)}>
          {ended.value !== '' && <Notice kind="info">{ended.value}</Notice>}
          {fault.value !== '' && (
            <Notice kind="bad" title="You are not signed in">
              <p>{fault.value}</p>
            </Notice>
          )}
          <TextField
            label="Client id"
            value={id}
            isRequired
            hint="Of an operator: it begins with operator_."
            filledBy="username"
          />
          <TextField label="Client secret" type="password" value={secret} isRequired filledBy="current-password" />
          <div class="buttons">
            <button type="submit" class="main" aria-disabled={isBusy.value}>
              {isBusy.value ? 'Signing in…' : 'Sign in'}
            </button>
          </div>
          <p class="hint">
            Somebody with the command line makes an operator:{' '}
            <code>relay admin clients create operator NAME --role admin</code>
          </p>
        </form>
      </Screen>
    </div>
  );
}
