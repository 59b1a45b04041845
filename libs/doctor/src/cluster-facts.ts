import type { ClusterNode } from '@relay/redis';

/** What a node answers of itself. */
export interface NodeAnswer {
  /** The answer to INFO. */
  readonly info: string;
  /** `cluster_state`; undefined where CLUSTER INFO is refused. */
  readonly state: string | undefined;
  /** Settings that INFO omits, by name; none where CONFIG is refused. */
  readonly config: Readonly<Record<string, string>>;
}

/** A node of the cluster, by what the others say and by what it answers itself. */
export interface NodeFacts extends Pick<ClusterNode, 'id' | 'slots' | 'follows' | 'moving'> {
  /** host:port */
  readonly name: string;
  /** The cluster holds it for failed. */
  readonly hasFailed: boolean;
  /** An error where it does not answer. */
  readonly answer: NodeAnswer | Error;
}

/** Where a hash tag of the relay is. */
export interface Place {
  readonly tag: string;
  readonly slot: number;
}

export interface ClusterFacts {
  readonly nodes: readonly NodeFacts[];
  /** Of the shards, in their order. */
  readonly shards: readonly Place[];
  /** Of what is global. */
  readonly global: Place;
}

export const SLOTS = 16_384;

/** A node that has slots, or takes part in elections. */
export const isPrimary = ({ follows }: NodeFacts): boolean => follows === undefined;

/** The node that has a slot; undefined where none has it. */
export const nodeOf = (nodes: readonly NodeFacts[], slot: number): NodeFacts | undefined =>
  nodes.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));

/** Why commands to a node fail; undefined where they do not. */
export function faultOf({ hasFailed, answer }: NodeFacts): string | undefined {
  if (answer instanceof Error) return `does not answer (${answer.message})`;
  return hasFailed ? 'is held for failed by the other nodes' : undefined;
}

/** A field of INFO. */
export const infoField = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];

/** `redis-cli` with the address of a node. */
export function cliOf(name: string): string {
  const end = name.lastIndexOf(':');
  return `redis-cli -h ${name.slice(0, end)} -p ${name.slice(end + 1)}`;
}

/** `5461-10922, 12000` */
export const rangesText = (ranges: readonly (readonly [number, number])[]): string =>
  ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ');
