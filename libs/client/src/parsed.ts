/** What JSON says; undefined when it is none, whatever it was called by whoever answered in the relay's place. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
