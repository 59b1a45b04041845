import type { ClusterNode } from '@relay/redis';
import { fault, ok, warning, type Finding } from './finding.js';

export interface NodeAnswer {
  readonly info: string;
  /** `cluster_state`; undefined if the server refuses CLUSTER INFO. */
  readonly state: string | undefined;
  /** Settings that INFO does not contain, by name; undefined if the server refuses CONFIG. */
  readonly config: Readonly<Record<string, string | undefined>>;
}

/** A node of the cluster: what the other nodes report about it, and its own answer. */
export interface NodeFacts extends Pick<ClusterNode, 'id' | 'slots' | 'follows' | 'moving'> {
  readonly name: string;
  /** Whether the other nodes regard it as failed. */
  readonly hasFailed: boolean;
  /** The node's answer, or an error if it did not answer. */
  readonly answer: NodeAnswer | Error;
}

interface Place {
  readonly tag: string;
  readonly slot: number;
}

export interface ClusterFacts {
  readonly nodes: readonly NodeFacts[];
  /** The shards, in the order of their numbers. */
  readonly shards: readonly Place[];
  readonly global: Place;
}

export const SLOTS = 16_384;

/** Whether a node is a primary, with or without slots. */
const isPrimary = ({ follows }: NodeFacts): boolean => follows === undefined;

/** Returns the node that serves a slot; undefined if no node does. */
export const nodeOf = (nodes: readonly NodeFacts[], slot: number): NodeFacts | undefined =>
  nodes.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));

/** Returns why commands to a node fail; undefined if they succeed. */
export function faultOf({ hasFailed, answer }: NodeFacts): string | undefined {
  if (answer instanceof Error) return `does not answer (${answer.message})`;
  return hasFailed ? 'is held for failed by the other nodes' : undefined;
}

function cliOf(name: string): string {
  const end = name.lastIndexOf(':');
  return `redis-cli -h ${name.slice(0, end)} -p ${name.slice(end + 1)}`;
}

/** Returns ranges of slots as text, such as `5461-10922, 12000`. */
const rangesText = (ranges: readonly (readonly [number, number])[]): string =>
  ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ');

/** Checks that all slots of the cluster are served and that all nodes answer. */
export function stateFindings({ nodes }: ClusterFacts): Finding[] {
  const found = [...slotFaults(nodes), ...stateFaults(nodes), ...moves(nodes)];
  const serving = nodes.filter(({ slots }) => slots.length > 0);
  const fine = ok('cluster', `all ${SLOTS} slots are served, by ${serving.length} primaries`);
  return [...(found.length === 0 ? [fine] : found), ...nodeFindings(nodes)];
}

function slotFaults(nodes: readonly NodeFacts[]): Finding[] {
  const first = nodes.find((node) => faultOf(node) === undefined)?.name ?? 'HOST:PORT';
  const missing = gapsIn(nodes);
  const uncovered = fault(
    'cluster',
    `no node serves the slots ${rangesText(missing)}`,
    `start the node that had them; if it is lost with its data, \`redis-cli --cluster fix ${first}\` gives them to other nodes, and \`relay recover\` fills them`,
  );
  const failed = nodes.flatMap((node) => {
    const why = faultOf(node);
    if (why === undefined || node.slots.length === 0) return [];
    return [
      fault('cluster', `${node.name} ${why}, and has the slots ${rangesText(node.slots)}`, remedyOf(node, nodes)),
    ];
  });
  return [...(missing.length === 0 ? [] : [uncovered]), ...failed];
}

/**
 * Returns how to fix a failed node. The cluster replaces a primary by itself once most of the other primaries cannot reach
 * it.
 */
function remedyOf(node: NodeFacts, nodes: readonly NodeFacts[]): string {
  const replica = nodes.find((other) => other.follows === node.id && faultOf(other) === undefined);
  if (replica === undefined) return `start ${node.name} with its data: no replica can take its place`;
  return `start ${node.name}; if its replica does not take over within a minute, run \`${cliOf(replica.name)} CLUSTER FAILOVER FORCE\``;
}

function gapsIn(nodes: readonly NodeFacts[]): (readonly [number, number])[] {
  const gaps: [number, number][] = [];
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (nodeOf(nodes, slot) !== undefined) continue;
    const last = gaps.at(-1);
    if (last?.[1] === slot - 1) last[1] = slot;
    else gaps.push([slot, slot]);
  }
  return gaps;
}

/**
 * Reports nodes that refuse all commands with keys. A node does so if it is cut off, or if it knows no node for some slot.
 */
function stateFaults(nodes: readonly NodeFacts[]): Finding[] {
  const refusing = nodes.filter(({ answer }) => !(answer instanceof Error) && answer.state === 'fail');
  if (refusing.length === 0) return [];
  const names = refusing.map(({ name }) => name).join(', ');
  return [
    fault(
      'cluster',
      `cluster_state is fail at ${names}: commands with keys are refused there`,
      'mend what the other findings of the cluster name; a node also says so while it does not reach most of the primaries',
    ),
  ];
}

/**
 * Warns that slots are being moved. If a move was interrupted, keys of the slot are on two nodes, and Redis refuses scripts
 * that use keys of both.
 */
function moves(nodes: readonly NodeFacts[]): Finding[] {
  return nodes
    .filter(({ moving }) => moving.length > 0)
    .map(({ name, moving }) =>
      warning(
        'cluster',
        `${name} is moving slots: ${moving.join(' ')}`,
        `wait for the \`redis-cli --cluster\` that moves them; if none runs, end its work with \`redis-cli --cluster fix ${name}\``,
      ),
    );
}

function nodeFindings(nodes: readonly NodeFacts[]): Finding[] {
  const check = 'cluster nodes';
  const away = nodes.filter((node) => node.slots.length === 0 && faultOf(node) !== undefined);
  const fine = ok(check, `all ${nodes.length} answer`);
  if (nodes.every((node) => faultOf(node) === undefined)) return [fine];
  const other = nodes.find((node) => faultOf(node) === undefined)?.name ?? 'HOST:PORT';
  return away.map((node) => {
    const primary = nodes.find(({ id }) => id === node.follows)?.name;
    const role = isPrimary(node) ? 'which has no slots,' : `a replica of ${primary ?? 'an unknown node'},`;
    return warning(
      check,
      `${node.name}, ${role} ${faultOf(node)}`,
      `start it; if it does not come back, \`redis-cli --cluster del-node ${other} ${node.id}\` forgets it`,
    );
  });
}

/**
 * Reports which node serves each shard. Checks that these nodes answer and that the shards are spread evenly over the
 * primaries.
 */
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
  return [ok('shards', text), ...uneven];
}

function unreached({ slot }: Place, nodes: readonly NodeFacts[], who: string, means: string): Finding[] {
  const node = nodeOf(nodes, slot);
  if (node === undefined)
    return [fault('shards', `${who} cannot be reached: no node serves its slot ${slot}; ${means}`, 'see `cluster`')];
  const why = faultOf(node);
  if (why === undefined) return [];
  const text = `${who} cannot be reached: ${node.name}, which has its slot ${slot}, ${why}; ${means}`;
  return [fault('shards', text, remedyOf(node, nodes))];
}

/** Warns of nodes that serve more shards than their share, because they run out of memory first. */
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
    return [warning('shards', text, moveOf(node, least, shards))];
  });
}

/**
 * Returns the command that moves one shard. `redis-cli` moves the lowest slots first, so it has to move all slots up to that
 * of the node's first shard.
 */
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

const numbersIn = (shards: readonly Place[], ranges: NodeFacts['slots']): number[] =>
  shards.flatMap(({ slot }, number) => (ranges.some(([first, last]) => first <= slot && slot <= last) ? [number] : []));
