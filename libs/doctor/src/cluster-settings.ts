import { infoField, type ClusterFacts, type NodeAnswer } from './cluster-facts.js';
import { ok, warning, type Finding } from './finding.js';
import { redisFindings } from './redis-info.js';

/** As of the alert RelayRedisMemory: workers stop reading at 70 %. */
const FULL = 0.6;

interface Answered {
  readonly name: string;
  readonly answer: NodeAnswer;
}

/** What each node is set to, what it runs, and how full it is. A replica counts too: it is the next primary. */
export function settingFindings({ nodes, shards }: ClusterFacts, environment: string): Finding[] {
  const answered = nodes.flatMap(({ name, answer }) => (answer instanceof Error ? [] : [{ name, answer }]));
  if (answered.length === 0) return [];
  const settings = answered.flatMap(({ name, answer: { info, config } }) =>
    [...redisFindings(info, environment, config['appendfsync']), ...coverage(shards.length, config)].map((finding) => ({
      name,
      finding,
    })),
  );
  return [...together(settings, answered.length), versions(answered), memory(answered)];
}

/** By default all of the cluster stops with one of its slots. Of one shard that makes no difference. */
function coverage(shards: number, { 'cluster-require-full-coverage': required }: NodeAnswer['config']): Finding[] {
  const check = 'cluster coverage';
  if (shards === 1 || required === undefined) return [];
  if (required === 'no') return [ok(check, 'a shard that is not served stops no other')];
  return [
    warning(
      check,
      'cluster-require-full-coverage is yes: one shard that is not served stops all of them',
      'run `CONFIG SET cluster-require-full-coverage no` and set it in redis.conf',
    ),
  ];
}

/** One finding for all nodes of which the same is to be said. */
function together(settings: readonly { name: string; finding: Finding }[], count: number): Finding[] {
  const groups = new Map<string, { finding: Finding; names: string[] }>();
  for (const { name, finding } of settings) {
    const key = `${finding.check}\n${finding.text}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { finding, names: [name] });
    else group.names.push(name);
  }
  return [...groups.values()].map(({ finding: { check, state, text, fix }, names }): Finding => {
    const who = names.length === count ? `all ${count} nodes` : names.join(', ');
    const said = { check, state, text: `${who}: ${text}` };
    return fix === undefined ? said : Object.assign(said, { fix: `at ${who}: ${fix}` });
  });
}

function versions(answered: readonly Answered[]): Finding {
  const check = 'redis version';
  const byVersion = new Map<string, string[]>();
  for (const { name, answer } of answered) {
    const version = versionIn(answer.info);
    byVersion.set(version, [...(byVersion.get(version) ?? []), name]);
  }
  const [first] = byVersion.keys();
  if (byVersion.size === 1) return ok(check, `all ${answered.length} nodes run ${first}`);
  const texts = [...byVersion].map(([version, names]) => `${version} at ${names.join(', ')}`);
  return warning(check, `the nodes run ${texts.join('; ')}`, 'bring all to the newest of these, replicas first');
}

/** Valkey tells a version of Redis as well. */
function versionIn(info: string): string {
  const valkey = infoField(info, 'valkey_version');
  return valkey === undefined ? `Redis ${infoField(info, 'redis_version')}` : `Valkey ${valkey}`;
}

function memory(answered: readonly Answered[]): Finding {
  const check = 'redis memory use';
  const uses = answered
    .map(({ name, answer: { info } }) => {
      const [used, max] = [Number(infoField(info, 'used_memory') ?? 0), Number(infoField(info, 'maxmemory') ?? 0)];
      const share = max === 0 ? 0 : used / max;
      return { share, text: max === 0 ? `${name} ${toMiB(used)} MiB` : `${name} ${Math.round(share * 100)} %` };
    })
    .toSorted((one, other) => other.share - one.share);
  const text = `used of maxmemory: ${uses.map((use) => use.text).join(', ')}`;
  if (uses.every(({ share }) => share <= FULL)) return ok(check, text);
  return warning(
    check,
    text,
    'raise maxmemory at the fullest, or move a shard to another node; purge dead letters that nobody wants',
  );
}

const toMiB = (bytes: number): number => Math.round(bytes / 1_024 / 1_024);
