import { infoField, nodeOf, type ClusterFacts, type NodeFacts } from './cluster-facts.js';
import { fault, ok, type Finding } from './finding.js';

const CHECK = 'cluster clocks';
/** All nodes are asked at once, and each answers within a second. */
const BEARABLE_MS = 5_000;

/** Whether the clocks of all nodes agree with that of the node with what is global, whose time all processes take. */
export function clockFindings({ nodes, global }: ClusterFacts): Finding[] {
  const leading = nodeOf(nodes, global.slot);
  const leads = timeOf(leading);
  if (leading === undefined || leads === undefined) return [];
  const wrong = nodes.flatMap((node) => {
    const aheadMs = (timeOf(node) ?? leads) - leads;
    if (Math.abs(aheadMs) < BEARABLE_MS) return [];
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    return [
      fault(
        CHECK,
        `${node.name} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${leading.name}, whose time all processes take: seen marks there last longer or shorter, and its promotion may move the time`,
        'synchronise the clocks of all machines by NTP, such as with chrony',
      ),
    ];
  });
  return wrong.length === 0 ? [ok(CHECK, 'agree')] : wrong;
}

/** Epoch milliseconds; undefined where the node does not answer. */
function timeOf(node: NodeFacts | undefined): number | undefined {
  if (node === undefined || node.answer instanceof Error) return undefined;
  const micros = infoField(node.answer.info, 'server_time_usec');
  return micros === undefined ? undefined : Number(micros) / 1_000;
}
