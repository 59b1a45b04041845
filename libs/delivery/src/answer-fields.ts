/** The header fields that tell a developer which server answered, why it refused, and where its own log has the request. */
const CHOSEN: ReadonlySet<string> = new Set([
  'allow',
  'cf-ray',
  'content-length',
  'content-type',
  'date',
  'location',
  'request-id',
  'retry-after',
  'server',
  'via',
  'www-authenticate',
  'x-amzn-requestid',
  'x-correlation-id',
  'x-request-id',
]);

/** RFC 9110 section 5.5: what a value should be limited to. The encoding of other bytes is not known, so no secret is found in them. */
const PRINTABLE = /^[\t\x20-\x7e]+$/;

/** The chosen fields of a head, by their names in lower case, in its order; of a repeated one the first. */
export function chosenFields(head: string): [name: string, value: string][] {
  const fields = new Map<string, string>();
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (CHOSEN.has(name) && PRINTABLE.test(value) && !fields.has(name)) fields.set(name, value);
  }
  return [...fields];
}
