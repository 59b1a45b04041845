/** Waits by the global timer, which a spec can control, unlike `node:timers/promises`. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Keeps the answer for each topic for a while, so that its partitions share one request. */
export function cached<T>(ask: (topic: string) => Promise<T>, forMs: number): (topic: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (topic) => {
    const known = answers.get(topic);
    if (known !== undefined) return known;
    const answer = ask(topic);
    answers.set(topic, answer);
    answer.catch(() => answers.delete(topic));
    setTimeout(() => answers.delete(topic), forMs).unref();
    return answer;
  };
}
