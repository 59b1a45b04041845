/** Check values by the name of the key. */
type Known = Readonly<Record<string, string>>;
/** The same of a process, the writing key first. */
type Ours = ReadonlyMap<string, string>;

/** Names of registered keys that a process lacks, or has another key for. */
export const missingKeys = (known: Known, ours: Ours): string[] =>
  Object.keys(known)
    .filter((kid) => ours.get(kid) !== known[kid])
    .toSorted();

/** What a process' keys lack of those that ever wrote; values under the others are open to it. */
export function faultOfKeys(known: Known, ours: Ours): string | undefined {
  const missing = missingKeys(known, ours);
  const lacking = missing.filter((kid) => !ours.has(kid));
  const other = missing.filter((kid) => ours.has(kid));
  const faults = [
    ...(lacking.length === 0 ? [] : [`lacks ${lacking.join(', ')}`]),
    ...(other.length === 0 ? [] : [`has another key under the name ${other.join(', ')}`]),
  ];
  if (faults.length === 0) return undefined;
  return `ENCRYPTION_KEYS ${faults.join(' and ')}: stored values may be sealed with it; put it back, or \`relay keys forget\` it`;
}

/**
 * Why a process must not work. Either it has none of the keys that ever wrote, and opens nothing. Or its writing key has a registered
 * name and another value, and no other process opens what it writes.
 */
export function refusalOf(known: Known, ours: Ours): string | undefined {
  const missing = missingKeys(known, ours);
  const [writing = ''] = ours.keys();
  const isForeign = missing.length > 0 && missing.length === Object.keys(known).length;
  return isForeign || (ours.has(writing) && missing.includes(writing)) ? faultOfKeys(known, ours) : undefined;
}

/** Why a command may seal nothing: as `refusalOf`, or because no process has its writing key yet. */
export function sealingFault(known: Known, ours: Ours): string | undefined {
  const [writing = ''] = ours.keys();
  const isNew = Object.keys(known).length > 0 && known[writing] === undefined;
  const refusal = refusalOf(known, ours);
  if (refusal !== undefined || !isNew) return refusal;
  return `ENCRYPTION_KEYS begins with ${writing}, which no process seals with yet: restart ingress and worker with it first, or put it behind`;
}
