import { randomUUID } from 'node:crypto';
import { sendEnv } from '@relay/config';
import { examplePayload, isEventType, readEnvelope, readLogged, subjectOf } from '@relay/events';
import { type Command, Option } from 'commander';
import {
  answer,
  documented,
  loginOf,
  type LoginOptions,
  numberOf,
  readFileOf,
  readSecret,
  settingsOf,
  type Shell,
  withLogin,
} from '../shell.js';

const AT_ONCE = 16;
const countOf = numberOf(/^[1-9]\d{0,5}$/, 'A number from 1 to 999999 is expected.');

type Options = LoginOptions & { json?: boolean; payload?: string; count: number; url?: string; apiKeyFile?: string };

type Result = Sent & { readonly id: string };

export function defineSend(command: Command, shell: Shell): void {
  command
    .argument('<type>', 'event type')
    .option('--payload <file>', 'JSON object to send; without it a sample is sent')
    .option('--count <n>', 'how many envelopes, each with an id of its own', countOf, 1)
    .option('--url <url>', 'address of the ingress; PUBLIC_URL without it');
  withLogin(command, 'a source')
    .addOption(
      new Option(
        '--api-key-file <file>',
        'a file with the API key of a source instead, - for standard input',
      ).conflicts(['clientId', 'clientSecretFile']),
    )
    .action(async (type: string, options: Options) => {
      const settings = settingsOf(shell, sendEnv);
      const { apiKeyFile: file } = options;
      const proof =
        file === undefined
          ? await loginOf(shell, options, settings)
          : { apiKey: await readSecret(shell, '--api-key-file', file) };
      if (proof === undefined)
        command.error(
          'error: a source is needed: give --client-id and --client-secret-file, RELAY_CLIENT_ID and RELAY_CLIENT_SECRET, or --api-key-file (`relay sources create NAME` makes one)',
        );
      const envelopes = envelopesOf(shell, type, options);
      const url = baseUrl(options.url ?? settings.PUBLIC_URL);
      const headers = await headersOf(url, proof);
      const stop = new AbortController();
      void shell.interrupted().then(() => stop.abort());
      const results = await sendAll((text) => send(url, headers, text), envelopes, stop.signal);
      report(shell, options, results);
      if (!stop.signal.aborted) return;
      shell.exitCode = 1;
      shell.note(`interrupted: ${results.length} of ${envelopes.size} were sent`);
    });
  documented(command, 'send task.created --count 10');
}

function envelopesOf(shell: Shell, type: string, { payload: file, count }: Options): Map<string, string> {
  const given =
    file === undefined ? undefined : readFileOf(shell, file, '--payload names a file that holds one JSON object');
  const envelopes = new Map<string, string>();
  for (let made = 0; made < count; made += 1) {
    const id = randomUUID();
    const text = envelopeText(id, type, given ?? samplePayload(type, randomUUID));
    if (made === 0) assertEnvelope(text, type, file);
    envelopes.set(id, text);
  }
  return envelopes;
}

function assertEnvelope(text: string, type: string, file: string | undefined): void {
  // For a type that operators define, only the ingress knows the schema.
  const read = (isEventType(type) ? readEnvelope : readLogged)(Buffer.from(text), []);
  if (read.ok) return;
  const faults = read.errors.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  throw new Error(`${file ?? 'The sample'} is not a payload of this type: ${faults.join(' ')}`);
}

async function sendAll(
  sendOne: (text: string) => Promise<Sent>,
  envelopes: ReadonlyMap<string, string>,
  stop: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = envelopes.entries();
  let isAway = false;
  const lane = async (): Promise<void> => {
    for (const [id, text] of waiting) {
      if (stop.aborted) return;
      if (isAway) {
        results.push({ id, status: 'refused', why: 'not sent: the ingress did not answer an earlier envelope' });
        continue;
      }
      try {
        results.push(Object.assign(await sendOne(text), { id }));
      } catch (error) {
        // Continue so that the accepted ids are printed. If the person ran the command again instead, each envelope would
        // get a new random id, so the accepted envelopes would be sent twice.
        isAway = true;
        const why = error instanceof Error ? error.message : String(error);
        results.push({ id, status: 'refused', why: `${why}. It may still have been accepted` });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, envelopes.size) }, lane));
  return results;
}

function report(shell: Shell, options: Options, results: readonly Result[]): void {
  const refused = results.filter((result) => result.status === 'refused');
  if (refused.length > 0) shell.exitCode = 1;
  const accepted = results.filter((result) => result.status !== 'refused').map(({ id }) => id);
  if (options.json === true) return answer(shell, options, { ids: accepted, refused }, '');
  if (accepted.length > 0) shell.print(accepted.join('\n'));
  for (const why of new Set(refused.map((result) => result.why))) {
    const count = refused.filter((result) => result.why === why).length;
    shell.note(`error: ${count} of ${results.length} not accepted: ${why}`);
  }
}

function baseUrl(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new Error(`${text} is no address: --url is one such as http://127.0.0.1:3000`);
  return text.replace(/\/+$/, '');
}

/** Returns a payload for trying out the relay, as JSON text. It is the example of the type, with new ids. */
export function samplePayload(type: string, uuid: () => string): string {
  const members = Object.entries(examplePayload(type)).map(([name, value]) => [name, isId(value) ? uuid() : value]);
  return JSON.stringify({
    ...Object.fromEntries(members),
    name: isEventType(type) ? `a sample ${subjectOf(type).replace('_', ' ')}` : 'a sample',
  });
}

const isId = (value: unknown): boolean =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/** Builds an envelope around the original text of the payload, so that endpoints get its numbers and key order unchanged. */
export const envelopeText = (id: string, type: string, payload: string): string =>
  `{"id":"${id}","type":"${type}","payload":${payload.trim()}}`;

const TIMEOUT_MS = 15_000;

type SourceProof = { readonly clientId: string; readonly clientSecret: string } | { readonly apiKey: string };

type Sent = { readonly status: 'accepted' | 'duplicate' } | { readonly status: 'refused'; readonly why: string };

type Headers = Readonly<Record<string, string>>;

/** Returns the headers that identify the source. @throws Error if the ingress does not answer or does not know the client */
async function headersOf(url: string, proof: SourceProof): Promise<Headers> {
  if ('apiKey' in proof) return { 'x-api-key': proof.apiKey };
  const basic = Buffer.from(`${proof.clientId}:${proof.clientSecret}`).toString('base64');
  const response = await ask(`${url}/auth/token`, { authorization: `Basic ${basic}` });
  const token = await bodyOf(response);
  if (!response.ok || typeof token['access_token'] !== 'string')
    throw new Error(`The ingress gives ${proof.clientId} no token (${faultOf(response, token)})`);
  return { authorization: `Bearer ${token['access_token']}` };
}

async function send(url: string, headers: Headers, envelope: string): Promise<Sent> {
  const response = await ask(`${url}/deliveries`, { ...headers, 'content-type': 'application/json' }, envelope);
  const said = await bodyOf(response);
  if (response.status !== 202) return { status: 'refused', why: faultOf(response, said) };
  return { status: said['status'] === 'duplicate' ? 'duplicate' : 'accepted' };
}

async function ask(url: string, headers: Headers, body?: string): Promise<Response> {
  const request = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
  try {
    return await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (cause) {
    const { origin } = new URL(url);
    const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
    throw new Error(`The ingress does not answer at ${origin} (${reason}): start it, or give --url`, { cause });
  }
}

/** `fetch` reports only `fetch failed`. The reason is in its cause, which has no message if several addresses were tried. */
function reasonOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  try {
    const value: unknown = await response.json();
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Returns the message of problem+json (RFC 9457) or of the token endpoint (RFC 6749 section 5.2). */
function faultOf(response: Response, said: Record<string, unknown>): string {
  const retryAfter = response.headers.get('retry-after');
  const words = [said['detail'] ?? said['error'], retryAfter === null ? undefined : `try again in ${retryAfter} s`];
  return [`HTTP ${response.status}`, ...words.filter((word) => typeof word === 'string')].join(': ');
}
