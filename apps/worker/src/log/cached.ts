/** One question per topic for a while, however many of its partitions ask. */
export function remembered<T>(ask: (topic: string) => Promise<T>, forMs: number): (topic: string) => Promise<T> {
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
