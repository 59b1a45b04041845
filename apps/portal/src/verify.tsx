import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { Button, Fault, Notice, Screen, TextField, relayNow } from '@relay/ui';

/** Page on which a developer can check why the signature of a delivery does not verify. */
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
          <Notice kind="good" title="The signature is valid">
            <p>{judgement.words}</p>
          </Notice>
        )}
        {judgement?.kind === 'false' && <Fault title={judgement.title} words={judgement.words} />}
      </div>
      <form class="panel" onSubmit={(event) => void verify(event)} noValidate aria-label="Delivery">
        <TextField label="webhook-id" value={fields.id} isRequired />
        <TextField label="webhook-timestamp" value={fields.timestamp} isRequired />
        <TextField label="webhook-signature" value={fields.signature} isRequired />
        <TextField label="Body, as it came" value={fields.body} lines={6} />
        <TextField label="Signing secret" type="password" value={fields.secret} isRequired />
        <div class="buttons">
          <Button name="Verify" isMain />
        </div>
      </form>
    </Screen>
  );
}

const TOLERANCE_S = 300;

export interface Received {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly secret: string;
}

/** Whether the signature of a delivery is valid. If it is not, `words` say why and what to do. */
type Judgement =
  | { readonly kind: 'genuine'; readonly words: string }
  | { readonly kind: 'false'; readonly title: string; readonly words: string };

const no = (title: string, words: string): Judgement => ({ kind: 'false', title, words });

/**
 * Verifies the signature of a delivery as Standard Webhooks 1.0.0 defines it. If it does not match, looks for common
 * mistakes. No data leaves the page.
 * @param nowMs epoch milliseconds
 */
export async function judge(given: Received, nowMs: number): Promise<Judgement> {
  const [id, timestamp, secret] = [given.id.trim(), given.timestamp.trim(), given.secret.trim()];
  const signatures = given.signature.trim().split(/\s+/);
  if (id === '' || timestamp === '' || given.signature.trim() === '')
    return no('A header is missing', 'Give webhook-id, webhook-timestamp and webhook-signature as they came.');
  const key = keyIn(secret);
  if (key === undefined)
    return no(
      'The secret is invalid',
      'A secret is whsec_ and base64. Copy the whole secret from the settings of the webhook.',
    );
  if (!/^\d{1,12}$/.test(timestamp))
    return no(
      'The timestamp is invalid',
      'webhook-timestamp is a number of seconds since 1970. Is it in milliseconds?',
    );
  if (!signatures.some((each) => each.startsWith('v1,')))
    return no('The signature has no v1', 'webhook-signature has one or more of v1,BASE64 with spaces between them.');
  const fits = async (body: string, bytes = key): Promise<boolean> =>
    signatures.includes(`v1,${await macOf(bytes, `${id}.${timestamp}.${body}`)}`);
  if (await fits(given.body)) return genuine(timestamp, nowMs);
  for (const [body, words] of variants(given.body)) if (await fits(body)) return no('The body was changed', words);
  if (await fits(given.body, new TextEncoder().encode(secret)))
    return no('The secret was used as text', 'Decode the base64 behind whsec_ and use these bytes as the key.');
  return no(
    'No signature matches',
    'Either the secret is of another webhook, or the body is not the bytes that came: take it before any JSON is parsed. Compare webhook-id with the envelope of the delivery.',
  );
}

function genuine(timestamp: string, nowMs: number): Judgement {
  const ageS = Math.round(nowMs / 1_000 - Number(timestamp));
  const late = Math.abs(ageS) > TOLERANCE_S;
  return {
    kind: 'genuine',
    words: late
      ? `The signature is right. An endpoint should refuse it all the same: it was made ${Math.abs(ageS)} s ${ageS > 0 ? 'ago' : 'from now'}, and more than ${TOLERANCE_S} s can be a repeat by somebody else, or a wrong clock.`
      : 'The relay has signed this delivery, and the signature is new enough.',
  };
}

/** Returns bodies that may have been sent before the given body was changed by a common mistake. */
function variants(body: string): [body: string, words: string][] {
  const trimmed = body.trim();
  const found: [string, string][] = [
    [trimmed, 'There are spaces or a line break around it that were not sent.'],
    [`${trimmed}\n`, 'A line break at its end is missing.'],
    [body.replaceAll('\r\n', '\n'), 'Its line breaks were changed.'],
  ];
  try {
    const value: unknown = JSON.parse(body);
    found.push([JSON.stringify(value), 'It was parsed and written again: verify the bytes as they came.']);
  } catch {
    // The body is not JSON, so it cannot have been parsed and written again.
  }
  return found;
}

function keyIn(secret: string): Uint8Array<ArrayBuffer> | undefined {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (base64 === undefined) return undefined;
  try {
    const key = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
    return key.length >= 24 && key.length <= 64 ? key : undefined;
  } catch {
    return undefined;
  }
}

async function macOf(bytes: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text)));
  return btoa(String.fromCodePoint(...mac));
}
