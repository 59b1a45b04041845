/**
 * The answer, or the error that `late` makes once `ms` milliseconds are over. A frozen broker keeps its connections, so that a
 * driver alone would wait much longer.
 */
export async function answeredWithin<T>(
  ms: number,
  answer: Promise<T>,
  late = (): Error => new Error(`Kafka did not answer within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
