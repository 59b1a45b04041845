/** The fault of a process' keys, from the check values of the registry and those of the process. */
export function faultOfKeys(
  known: Readonly<Record<string, string>>,
  ours: ReadonlyMap<string, string>,
): string | undefined {
  const names = Object.keys(known).toSorted();
  const lacking = names.filter((kid) => !ours.has(kid));
  const other = names.filter((kid) => ours.has(kid) && ours.get(kid) !== known[kid]);
  const faults = [
    ...(lacking.length === 0 ? [] : [`lacks ${lacking.join(', ')}`]),
    ...(other.length === 0 ? [] : [`has another key under the name ${other.join(', ')}`]),
  ];
  if (faults.length === 0) return undefined;
  return `ENCRYPTION_KEYS ${faults.join(' and ')}: stored values may be sealed with it; put it back, or \`relay keys forget\` it`;
}
