import { ask, countOf } from '@relay/ui';
import { api, type Calls } from './session.js';

export type Selection = Calls['replayDeadLetters']['data']['body'];

/** Replays or purges selected dead letters: counts them, asks once, and goes on until all are done. @throws Refused while it counts */
export async function changeLetters(verb: 'replay' | 'purge', selection: Selection, done: () => void): Promise<void> {
  const name = verb === 'replay' ? 'replayDeadLetters' : 'purgeDeadLetters';
  const counted = await api.call(name, { body: { ...selection, dryRun: true } });
  const matched = 'matched' in counted ? counted.matched : 0;
  // With the time of the count as its end, the change takes no dead letter that came later.
  const same = { ...selection, ...('until' in counted ? { until: counted.until } : {}) };
  const letters = `${'complete' in counted && !counted.complete ? 'at least ' : ''}${countOf(matched, 'dead letter')}`;
  ask({
    title: verb === 'replay' ? `Replay ${letters}?` : `Purge ${letters}?`,
    words:
      verb === 'replay'
        ? `${letters} will be delivered once more, with all attempts of the schedule.`
        : `${letters} will be removed for good. Nobody can replay them afterwards; the audit tells that you did it.`,
    verb: verb === 'replay' ? 'Replay' : 'Purge',
    isDangerous: verb === 'purge',
    curl: api.curl(name, { body: same }),
    run: async () => {
      const text = verb === 'replay' ? await replayAll(same) : await purgeAll(same);
      done();
      return text;
    },
  });
}

/** The most answers of 5 s each that one click asks for: a page is no place for more. */
const ROUNDS = 1_000;

async function replayAll(selection: Selection): Promise<string> {
  let [replayed, refused] = [0, 0];
  let why = '';
  let after: string | undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const answer = await api.call('replayDeadLetters', {
      body: { ...selection, ...(after === undefined ? {} : { after }) },
    });
    if (!('replayed' in answer)) break;
    replayed += answer.replayed;
    refused += answer.refusedCount;
    why = answer.refused[0]?.why ?? why;
    after = answer.after;
    if (answer.complete || after === undefined) break;
  }
  const rest = refused === 0 ? '' : ` ${countOf(refused, 'was', 'were')} refused: ${why}`;
  return `${countOf(replayed, 'dead letter')} replayed.${rest}`;
}

async function purgeAll(selection: Selection): Promise<string> {
  let purged = 0;
  let after: string | undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const answer = await api.call('purgeDeadLetters', {
      body: { ...selection, ...(after === undefined ? {} : { after }) },
    });
    if (!('purged' in answer)) break;
    purged += answer.purged;
    after = answer.after;
    if (answer.complete || after === undefined) break;
  }
  return `${countOf(purged, 'dead letter')} purged.`;
}
