import { attemptOf, envelopeIdOf, isDelivery } from './endpoints.js';
import type { Trial } from './trial.js';

// What explains a failed run to whoever looks for the cause.

/** Every request of each delivery that came more than once, with the interruptions before it, in seconds. */
export function repeatedRequests({ endpoints, interruptions }: Trial): string {
  const seconds = (at: number | undefined): string => (at === undefined ? 'never' : (at / 1_000).toFixed(3));
  const lines = interruptions.map(({ at, since }) => `interrupted at ${seconds(at)} since ${seconds(since)}`);
  for (const endpoint of endpoints)
    for (const [id, requests] of grouped(endpoint.received(), envelopeIdOf)) {
      if (requests.filter(isDelivery).length < 2) continue;
      const shown = requests.map((request) => {
        const { status, at, answeredAt, endedAt } = request;
        const times = `${seconds(at)} answered ${seconds(answeredAt)} ended ${seconds(endedAt)}`;
        return `#${attemptOf(request)} ${status} ${times}`;
      });
      lines.push(`${requests[0]?.path} ${id}: ${shown.join('; ')}`);
    }
  return lines.join('\n');
}

/** The source's answers, second by second: how many of which status, and the slowest. */
export function answersBySecond({ load, returnedAt = 0 }: Trial): string {
  const bySecond = grouped(load.answers, ({ at }) => Math.floor((at - returnedAt) / 1_000));
  const lines = [...bySecond].map(([second, answers]) => {
    const statuses = [...grouped(answers, ({ status }) => status)].map(
      ([status, some]) => `${some.length} x ${status}`,
    );
    const slowest = Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)));
    return `${second} s after the return: ${statuses.join(', ')}, slowest ${slowest} ms`;
  });
  return lines.join('\n');
}

/** What the endpoints received, second by second: how many requests of which path and attempt, and the interruptions. */
export function requestsBySecond({ endpoints, interruptions }: Trial): string {
  const received = endpoints.flatMap((endpoint) => endpoint.received()).toSorted((a, b) => a.at - b.at);
  const struck = new Set(interruptions.map(({ at }) => Math.floor(at / 1_000)));
  const lines = [...grouped(received, ({ at }) => Math.floor(at / 1_000))].map(([second, requests]) => {
    const kinds = [...grouped(requests, (request) => `${request.path}#${attemptOf(request)}`)];
    const text = kinds
      .map(([kind, some]) => `${kind} ${some.length}`)
      .toSorted()
      .join(', ');
    return `${second}${struck.has(second) ? ' INTERRUPTED' : ''}: ${text}`;
  });
  return lines.join('\n');
}

function grouped<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
