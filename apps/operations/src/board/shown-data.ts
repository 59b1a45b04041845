/**
 * What the board shows of a job: ids, counts, reasons. The envelope itself is personal data of somebody's users, which a
 * look at a queue does not need; `GET /dead-letters/{id}` shows the one that an operator asks for, and is told.
 */
export function shownData(data: unknown): unknown {
  if (typeof data !== 'object' || data === null || !('body' in data)) return data;
  const { body, ...facts } = data;
  return { ...facts, body: `${Buffer.byteLength(String(body))} bytes, not shown here` };
}
