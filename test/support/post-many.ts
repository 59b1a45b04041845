import { anEnvelope, type Client, type Json } from './client.js';

const BATCH = 500;

/** Posts so many envelopes in batches; resolves with their bodies by id. @throws Error unless each is accepted */
export async function postMany(source: Client, count: number, type: string): Promise<Map<string, string>> {
  const bodies = new Map<string, string>();
  for (let left = count; left > 0; left -= BATCH) {
    const envelopes = Array.from({ length: Math.min(BATCH, left) }, () => anEnvelope({ type }));
    const texts = envelopes.map((envelope) => JSON.stringify(envelope));
    const headers = { 'content-type': 'application/x-ndjson' };
    const { json, text } = await source.request('POST', '/deliveries/batch', texts.join('\n'), headers);
    const results = json['results'] as unknown as Json[];
    if (!results.every((result) => String(result['status']) === 'accepted')) throw new Error(`not accepted: ${text}`);
    for (const [index, { id }] of envelopes.entries()) bodies.set(id, texts[index] ?? '');
  }
  return bodies;
}
