import { faultOf, infoField, type ClusterFacts, type NodeFacts } from './cluster-facts.js';
import { ok, warning, type Finding } from './finding.js';

const CHECK = 'replicas';
/** A replica says every second how far it is. */
const SILENT_S = 10;
const BEHIND_BYTES = 16 * 1_024 * 1_024;

/** A replica, as its primary sees it. */
interface Follower {
  readonly name: string;
  readonly isOnline: boolean;
  readonly silentS: number;
  readonly behind: number;
}

/** Whether each primary with slots has a replica that could take its place, and what that one would lack. */
export function replicaFindings({ nodes }: ClusterFacts, environment: string): Finding[] {
  const serving = nodes.filter((node) => node.slots.length > 0 && faultOf(node) === undefined);
  const found = serving.flatMap((node) => replicasOf(node, nodes));
  if (found.some(({ state }) => state === 'warning') && environment === 'development')
    return [ok(CHECK, 'some are missing or behind, as is usual with RELAY_ENV=development')];
  if (found.length > 0) return found;
  const most = Math.max(0, ...serving.flatMap((node) => followersOf(node).map(({ behind }) => behind)));
  return [ok(CHECK, `every primary has one that follows, at most ${most} bytes behind`)];
}

function replicasOf(node: NodeFacts, nodes: readonly NodeFacts[]): Finding[] {
  const followers = followersOf(node);
  const online = followers.filter(({ isOnline }) => isOnline);
  const copied = followers.filter(({ isOnline }) => !isOnline).map(({ name }) => name);
  if (online.length === 0) {
    const text =
      copied.length > 0
        ? `${node.name} has no replica yet: ${copied.join(', ')} is still getting its data`
        : `${node.name} has no replica that is connected`;
    return [warning(CHECK, `${text}: if it fails, its shards stop, and are lost with its disk`, fixOf(node, nodes))];
  }
  const best = online.toSorted((one, other) => one.silentS - other.silentS || one.behind - other.behind)[0];
  if (best === undefined || (best.silentS < SILENT_S && best.behind < BEHIND_BYTES)) return [];
  const text = `${best.name}, the replica of ${node.name} that is least behind, lacks ${best.behind} bytes and has said nothing for ${best.silentS} s`;
  return [
    warning(
      CHECK,
      `${text}: after a failover what it lacks is delivered again`,
      'look at its load, its disk and the network between both',
    ),
  ];
}

function fixOf({ id, name }: NodeFacts, nodes: readonly NodeFacts[]): string {
  const own = nodes.filter(({ follows }) => follows === id).map((node) => node.name);
  const start = own.length > 0 ? `start ${own.join(' or ')}, or ` : '';
  return `${start}add one: \`redis-cli --cluster add-node NEW_HOST:PORT ${name} --cluster-slave --cluster-master-id ${id}\``;
}

/** `slave0:ip=10.0.0.2,port=6379,state=online,offset=140,lag=0` of INFO, with `master_repl_offset`. */
function followersOf({ answer }: NodeFacts): Follower[] {
  if (answer instanceof Error) return [];
  const written = Number(infoField(answer.info, 'master_repl_offset') ?? 0);
  return [...answer.info.matchAll(/^slave\d+:(\S+)/gm)].map(([, line = '']) => {
    const fields = Object.fromEntries(line.split(',').map((part) => part.split('=') as [string, string]));
    return {
      name: `${fields['ip']}:${fields['port']}`,
      isOnline: fields['state'] === 'online',
      silentS: Number(fields['lag'] ?? 0),
      behind: Math.max(0, written - Number(fields['offset'] ?? 0)),
    };
  });
}
