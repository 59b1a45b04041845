/** What a node of Redis Cluster says of one. */
export interface Claim {
  host: string;
  port: number;
  /** Grows with each failover: of two that claim a slot, the later one has it. */
  epoch: number;
  /** First and last, none for a replica. */
  slots: (readonly [first: number, last: number])[];
}

const DOWN = new Set(['fail', 'noaddr', 'handshake']);

/**
 * Reads the answer to `CLUSTER NODES`; a node that the cluster holds for failed is left out.
 * @param asked the host that answered, which may not know an address of its own
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
export function claimsOf(answer: string, asked: string): Claim[] {
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [, address = '', flags = '', , , , epoch = '0', , ...slots] = line.split(' ');
      if (flags.split(',').some((flag) => DOWN.has(flag))) return [];
      const [place = '', hostname = ''] = address.split(',');
      const [, ip = '', port = ''] = /^(.*):(\d+)(?:@\d+)?$/.exec(place) ?? [];
      return [
        { host: hostname || ip || asked, port: Number(port), epoch: Number(epoch), slots: slots.flatMap(rangeOf) },
      ];
    });
}

/** Whoever serves a slot by the latest claim: a primary that was cut off still takes itself for one. */
export const primaryOf = (claims: readonly Claim[], slot: number): Claim | undefined =>
  claims
    .filter(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))
    .toSorted((one, other) => other.epoch - one.epoch)[0];

/** A slot that is being moved stands in brackets, beside the range that has it. */
function rangeOf(text: string): [readonly [number, number]] | [] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  return first === undefined ? [] : [[Number(first), Number(last)]];
}
