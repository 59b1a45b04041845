import type { parseArgs } from 'node:util';

export const USAGE = `Usage: partner-relay listen --url ADDRESS [--type TYPES] [--forward-to URL] [--json]
       partner-relay types --url ADDRESS [--out FILE]

listen receives your envelopes over an outbound connection, prints each and forwards it to a program on this machine.
types writes TypeScript types of the envelopes of all event types that every partner sees. It needs no credentials.

  --url ADDRESS      address of the relay, such as https://relay.example; RELAY_URL without it
  --type TYPES       event types, comma separated or repeated; all without it
  --forward-to URL   gets each delivery, with the same bytes and headers, such as http://127.0.0.1:8080/webhooks
  --json             print JSON
  --out FILE         gets the types, such as events.ts; standard output without it

RELAY_CLIENT_ID and RELAY_CLIENT_SECRET are the credentials of a partner, for listen.`;

const OPTIONS = {
  url: { type: 'string' },
  type: { type: 'string', multiple: true },
  'forward-to': { type: 'string' },
  json: { type: 'boolean' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The options of each command besides `--url`. */
const OF_COMMAND = new Map([
  ['listen', ['type', 'forward-to', 'json']],
  ['types', ['out']],
]);

type Parsed = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>;

type Arguments =
  | { readonly help: true }
  | { readonly fault: string }
  | { readonly url: string; readonly out: string | undefined }
  | {
      readonly settings: { readonly url: string; readonly clientId: string; readonly clientSecret: string };
      readonly types: readonly string[];
      readonly forwardTo: URL | undefined;
      readonly json: boolean;
    };

/** @param parse throws for an option that there is not */
export function readArguments(
  parse: (options: typeof OPTIONS) => Parsed,
  env: Readonly<Record<string, string | undefined>>,
): Arguments {
  let parsed: Parsed;
  try {
    parsed = parse(OPTIONS);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { help: true };
  const command = positionals.join(' ');
  const own = OF_COMMAND.get(command);
  if (own === undefined) return { fault: 'the command is `listen` or `types`' };
  const other = Object.keys(values).find((name) => name !== 'url' && !own.includes(name));
  if (other !== undefined) return { fault: `--${other} is no option of ${command}` };
  const { RELAY_URL, RELAY_CLIENT_ID: clientId, RELAY_CLIENT_SECRET: clientSecret } = env;
  const url = values.url ?? RELAY_URL;
  if (url === undefined) return { fault: 'the address of the relay is missing: give --url or RELAY_URL' };
  if (httpUrl(url) === undefined) return { fault: `--url: ${url} is no http or https address` };
  if (values.out === '') return { fault: '--out: a file is missing' };
  if (command === 'types') return { url, out: values.out };
  if (!clientId || !clientSecret)
    return { fault: 'the credentials of a partner are missing: set RELAY_CLIENT_ID and RELAY_CLIENT_SECRET' };
  const target = values['forward-to'];
  const forwardTo = target === undefined ? undefined : httpUrl(target);
  if (target !== undefined && forwardTo === undefined)
    return { fault: `--forward-to: ${target} is no http or https address` };
  const names = (values.type ?? []).flatMap((text) => text.split(',').map((name) => name.trim()));
  if (names.includes('')) return { fault: '--type: an event type is missing' };
  const types = [...new Set(names)];
  return { settings: { url, clientId, clientSecret }, types, forwardTo, json: values.json === true };
}

function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}
