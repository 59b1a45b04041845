/** The value of a JSON text; undefined for any other text, such as the answer of a proxy. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
