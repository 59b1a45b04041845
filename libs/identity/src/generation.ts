import type { ClientRecord } from './client.js';

// Every secret of a client has a generation, and a token that of the secret it was got by. So what a token's end depends on is told
// without a clock: hosts' clocks differ, and a process that learns of a change two seconds late issues tokens meanwhile.

type Secrets = Pick<ClientRecord, 'generation' | 'secretHashes'>;

/** Of a live secret by its place in the record, the newest first. */
export const generationAt = ({ generation = 0 }: Secrets, place: number): number => generation - place;

/** Whether tokens of this generation may still be used: whether the secret they were got by may. */
export const isLiveGeneration = (client: Secrets, generation: number): boolean =>
  generation >= generationAt(client, Math.max(0, client.secretHashes.length - 1));

/** What a client becomes by a new secret: the newest of those before is kept, or none. */
export function withNewSecret<T extends Secrets>(client: T, hash: string, keptBefore: 0 | 1): T {
  const secretHashes = [hash, ...client.secretHashes.slice(0, keptBefore)];
  return { ...client, secretHashes, generation: generationAt(client, -1) };
}

/** The same secrets in generations of their own: every token that was got by them before has ended. */
export const withoutTokens = <T extends Secrets>(client: T): T => ({
  ...client,
  generation: generationAt(client, -Math.max(1, client.secretHashes.length)),
});
