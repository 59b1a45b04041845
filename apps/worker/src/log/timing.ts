/** Resolves after `ms`. It uses the global timer, which specs can control, unlike the timer of `node:timers/promises`. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Caches the answer for each topic for `forMs` milliseconds, so that the partitions of a topic share one request. */
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
