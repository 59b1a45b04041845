import type { ClientRecord } from './client.js';

// Every secret of a client has a generation, and a token has that of the secret it was issued for. So the end of a token needs no
// clock: hosts' clocks differ, and a process that learns of a change two seconds late issues tokens meanwhile.

type Secrets = Pick<ClientRecord, 'generation' | 'secretHashes'>;

/** Of a live secret by its place in the record, the newest first. */
export const generationAt = ({ generation }: Secrets, place: number): number => generation - place;

/** Whether tokens of this generation are valid: whether the secret they were issued for is. */
export const isLiveGeneration = (client: Secrets, generation: number): boolean =>
  generation >= generationAt(client, Math.max(0, client.secretHashes.length - 1));

/** The client with a new secret: it keeps the newest of the former ones, or none. */
export function withNewSecret<T extends Secrets>(client: T, hash: string, keptBefore: 0 | 1): T {
  const secretHashes = [hash, ...client.secretHashes.slice(0, keptBefore)];
  return { ...client, secretHashes, generation: generationAt(client, -1) };
}

/** The same secrets with new generations, which ends every token issued for them before. */
export const withoutTokens = <T extends Secrets>(client: T): T => ({
  ...client,
  generation: generationAt(client, -Math.max(1, client.secretHashes.length)),
});
