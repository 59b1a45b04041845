import { randomUUID } from 'node:crypto';

/** Random ids of envelopes, so many of each shard: those of the first shard first. */
export function idsOfEach(
  shards: { readonly all: readonly unknown[]; of(envelopeId: string): unknown },
  each: number,
): string[] {
  return shards.all.flatMap((shard) => {
    const ids: string[] = [];
    while (ids.length < each) {
      const id = randomUUID();
      if (shards.of(id) === shard) ids.push(id);
    }
    return ids;
  });
}
