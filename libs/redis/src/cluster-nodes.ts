/** What a node of Redis Cluster says of one. */
export interface Claim {
  host: string;
  port: number;
  /** Grows with each failover: of two that claim a slot, the later one has it. */
  epoch: number;
  /** First and last, none for a replica. */
  slots: (readonly [first: number, last: number])[];
}

/** One node, by what another says of it or it says of itself. */
export interface ClusterNode extends Claim {
  id: string;
  /** Such as `master`, `slave`, `myself`, `fail?` and `fail`. */
  flags: readonly string[];
  /** Id of the primary that a replica follows. */
  follows?: string;
  /** Slots that it gives away or gets, as `[93->-<id>]` and `[93-<-<id>]`. */
  moving: readonly string[];
}

const DOWN = new Set(['fail', 'noaddr', 'handshake']);

/**
 * Reads the answer to `CLUSTER NODES`.
 * @param asked the host that answered, which may not know an address of its own
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
export function nodesOf(answer: string, asked: string): ClusterNode[] {
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', address = '', flags = '', follows = '-', , , epoch = '0', , ...slots] = line.split(' ');
      const [place = '', hostname = ''] = address.split(',');
      const [, ip = '', port = ''] = /^(.*):(\d+)(?:@\d+)?$/.exec(place) ?? [];
      const node: ClusterNode = {
        id,
        host: hostname || ip || asked,
        port: Number(port),
        flags: flags.split(','),
        epoch: Number(epoch),
        slots: slots.flatMap(rangeOf),
        moving: slots.filter((text) => text.startsWith('[')),
      };
      if (follows !== '-') node.follows = follows;
      return node;
    });
}

/** The slots that nodes claim; one that the cluster holds for failed is left out. @param asked as of `nodesOf` */
export const claimsOf = (answer: string, asked: string): Claim[] =>
  nodesOf(answer, asked)
    .filter(({ flags }) => !flags.some((flag) => DOWN.has(flag)))
    .map(({ host, port, epoch, slots }) => ({ host, port, epoch, slots }));

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
