/**
 * The data of a job that the board shows: ids, counts, reasons. The envelope is personal data and not needed there;
 * `GET /dead-letters/{id}` shows it on request and reports that on `relay.operations`.
 */
export function shownData(data: unknown): unknown {
  if (typeof data !== 'object' || data === null || !('body' in data)) return data;
  const { body, ...facts } = data;
  return { ...facts, body: `${Buffer.byteLength(String(body))} bytes, not shown here` };
}
