import { faultOf, isPrimary, nodeOf, type ClusterFacts, type NodeFacts, type Place } from './cluster-facts.js';
import { remedyOf } from './cluster-state.js';
import { fault, ok, warning, type Finding } from './finding.js';

const CHECK = 'shards';

/** Which node each shard is on, whether it can be reached, and whether the nodes share the shards evenly. */
export function shardFindings(facts: ClusterFacts): Finding[] {
  const { nodes, shards, global } = facts;
  const isOnly = shards.length === 1;
  const globalLost = isOnly ? [] : unreached(global, nodes, `What is global (${global.tag})`, 'all shards wait');
  const others = globalLost.length > 0 ? '' : ', those of the other shards are delivered';
  const lost = [
    ...shards.flatMap((place, number) => {
      const who = isOnly ? `The relay's slot (${place.tag})` : `Shard ${number} of ${shards.length} (${place.tag})`;
      return unreached(place, nodes, who, isOnly ? 'nothing is delivered' : `its envelopes wait${others}`);
    }),
    ...globalLost,
  ];
  if (lost.length > 0) return lost;
  const uneven = shareFindings(facts);
  const where = nodes.flatMap(({ name, slots }) => {
    const own = numbersIn(shards, slots);
    return own.length === 0 ? [] : [`${own.join(', ')} on ${name}`];
  });
  const text = isOnly ? `all keys are on ${nodeOf(nodes, global.slot)?.name}` : `all answer: ${where.join('; ')}`;
  return [ok(CHECK, text), ...uneven];
}

function unreached({ slot }: Place, nodes: readonly NodeFacts[], who: string, means: string): Finding[] {
  const node = nodeOf(nodes, slot);
  if (node === undefined)
    return [fault(CHECK, `${who} cannot be reached: no node serves its slot ${slot}; ${means}`, 'see `cluster`')];
  const why = faultOf(node);
  if (why === undefined) return [];
  const text = `${who} cannot be reached: ${node.name}, which has its slot ${slot}, ${why}; ${means}`;
  return [fault(CHECK, text, remedyOf(node, nodes))];
}

/** A node with more shards than its share is the first to be full. */
function shareFindings({ nodes, shards }: ClusterFacts): Finding[] {
  if (shards.length === 1) return [];
  const primaries = nodes.filter((node) => isPrimary(node) && faultOf(node) === undefined);
  const share = Math.ceil(shards.length / primaries.length);
  const load = (node: NodeFacts): number => numbersIn(shards, node.slots).length;
  const least = primaries.toSorted((one, other) => load(one) - load(other))[0];
  return primaries.flatMap((node) => {
    const own = numbersIn(shards, node.slots);
    if (own.length <= share || least === undefined) return [];
    const text = `${node.name} has ${own.length} of ${shards.length} shards (${own.join(', ')}), where its share is ${share}: it is the first node to be full`;
    return [warning(CHECK, text, moveOf(node, least, shards))];
  });
}

/** `redis-cli` moves the lowest slots of a node first: so many as reach up to the first shard. */
function moveOf(from: NodeFacts, to: NodeFacts, shards: readonly Place[]): string {
  const [lowest] = shards
    .map(({ slot }, number) => ({ slot, number }))
    .filter(({ number }) => numbersIn(shards, from.slots).includes(number))
    .toSorted((one, other) => one.slot - other.slot);
  const upTo = lowest?.slot ?? 0;
  const count = from.slots.reduce(
    (sum, [first, last]) => sum + (first > upTo ? 0 : Math.min(last, upTo) - first + 1),
    0,
  );
  const command = `redis-cli --cluster reshard ${from.name} --cluster-from ${from.id} --cluster-to ${to.id} --cluster-slots ${count} --cluster-yes`;
  return `move shard ${lowest?.number} to ${to.name}: \`${command}\` (its deliveries wait meanwhile), then run the doctor again`;
}

/** Numbers of the shards whose slots are in these ranges. */
const numbersIn = (shards: readonly Place[], ranges: NodeFacts['slots']): number[] =>
  shards.flatMap(({ slot }, number) => (ranges.some(([first, last]) => first <= slot && slot <= last) ? [number] : []));
