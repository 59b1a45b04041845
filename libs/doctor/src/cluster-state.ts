import {
  cliOf,
  faultOf,
  isPrimary,
  nodeOf,
  rangesText,
  SLOTS,
  type ClusterFacts,
  type NodeFacts,
} from './cluster-facts.js';
import { fault, ok, warning, type Finding } from './finding.js';

const CHECK = 'cluster';

/** Whether all slots of the cluster are served, and all of its nodes are there. */
export function stateFindings({ nodes }: ClusterFacts): Finding[] {
  const found = [...slotFaults(nodes), ...stateFaults(nodes), ...moves(nodes)];
  const serving = nodes.filter(({ slots }) => slots.length > 0);
  const fine = ok(CHECK, `all ${SLOTS} slots are served, by ${serving.length} primaries`);
  return [...(found.length === 0 ? [fine] : found), ...nodeFindings(nodes)];
}

function slotFaults(nodes: readonly NodeFacts[]): Finding[] {
  const first = nodes.find((node) => faultOf(node) === undefined)?.name ?? 'HOST:PORT';
  const missing = gapsIn(nodes);
  const uncovered = fault(
    CHECK,
    `no node serves the slots ${rangesText(missing)}`,
    `start the node that had them; if it is lost with its data, \`redis-cli --cluster fix ${first}\` gives them to other nodes, and \`relay recover\` fills them`,
  );
  const failed = nodes.flatMap((node) => {
    const why = faultOf(node);
    if (why === undefined || node.slots.length === 0) return [];
    return [fault(CHECK, `${node.name} ${why}, and has the slots ${rangesText(node.slots)}`, remedyOf(node, nodes))];
  });
  return [...(missing.length === 0 ? [] : [uncovered]), ...failed];
}

/** A cluster replaces a primary by itself, once most of the other primaries miss it. */
export function remedyOf(node: NodeFacts, nodes: readonly NodeFacts[]): string {
  const replica = nodes.find((other) => other.follows === node.id && faultOf(other) === undefined);
  if (replica === undefined) return `start ${node.name} with its data: no replica can take its place`;
  return `start ${node.name}; if its replica does not take over within a minute, run \`${cliOf(replica.name)} CLUSTER FAILOVER FORCE\``;
}

/** Ranges of slots that no node claims. */
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

/** A node without the others, or one that misses a slot, refuses everything. */
function stateFaults(nodes: readonly NodeFacts[]): Finding[] {
  const refusing = nodes.filter(({ answer }) => !(answer instanceof Error) && answer.state === 'fail');
  if (refusing.length === 0) return [];
  const names = refusing.map(({ name }) => name).join(', ');
  return [
    fault(
      CHECK,
      `cluster_state is fail at ${names}: commands with keys are refused there`,
      'mend what the other findings of the cluster name; a node also says so while it does not reach most of the primaries',
    ),
  ];
}

/** A move that was broken off: keys of the slot are on two nodes, and scripts over it are refused. */
function moves(nodes: readonly NodeFacts[]): Finding[] {
  return nodes
    .filter(({ moving }) => moving.length > 0)
    .map(({ name, moving }) =>
      warning(
        CHECK,
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
